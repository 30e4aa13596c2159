"""The tokens of set-password links: signatures over everything about a user that must not have changed since.

Nothing is stored. A token is valid for three days. It ends earlier if the user signs in, gets another password, email
or role, is deactivated, or all sessions are ended. Undoing such a change does not restore it, because each raises the
version of the sessions.
"""

import json

from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.utils.crypto import salted_hmac
from django.utils.http import base36_to_int

from accounts.models import User
from accounts.moments import LIMITS_DIFFER


class _SetPasswordTokens(PasswordResetTokenGenerator):
    key_salt = "accounts.credentials.set_password_tokens"

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        return json.dumps([timestamp, _covered(user)])

    def is_from_future(self, token: str) -> bool:
        """Returns whether a genuine token was created before the clock stepped back. Its age is unknown then."""
        made_at = base36_to_int(token.partition("-")[0])
        return made_at > self._num_seconds(self._now()) + LIMITS_DIFFER.total_seconds()


_tokens = _SetPasswordTokens()


def make_token(user: User) -> str:
    return _tokens.make_token(user)


def is_valid(token: str, user: User) -> bool:
    """Returns whether the token was made for this user as they are now, at most three days ago."""
    return user.is_active and _tokens.check_token(user, token) and not _tokens.is_from_future(token)


def fingerprint(user: User) -> str:
    """Returns a value to store in place of a token. It changes with the user as a token does, but gives no access."""
    return salted_hmac(f"{__name__}.fingerprint", json.dumps(_covered(user)), algorithm="sha256").hexdigest()


def _covered(user: User) -> list[object]:
    return [
        *(str(user.pk), user.email, user.password, user.session_version),
        *(user.is_active, user.is_staff, user.is_superuser),
        user.last_login and user.last_login.isoformat(),
    ]
