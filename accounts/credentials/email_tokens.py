"""The tokens of links that confirm a new email: signatures over the new address and the user at the time of asking.

Nothing is stored. A token is valid for a day, only for its user, and until the user's email, password or rights change
or all sessions are ended.
"""

import json
from datetime import UTC, datetime, timedelta

from django.core.signing import BadSignature, Signer
from django.utils.crypto import constant_time_compare, salted_hmac

from accounts import clock
from accounts.models import User
from accounts.moments import is_recent

LIFETIME = timedelta(days=1)
LONGEST = 2048
"""In characters. A token for the longest address has 700."""

_signer = Signer(salt="accounts.credentials.email_tokens")


def make_token(user: User, email: str) -> str:
    content = {"email": email, "at": int(clock.now().timestamp()), "of": _fingerprint(user)}
    return str(_signer.sign_object(content))


def read_token(token: str, user: User) -> str | None:
    """Returns the address that the token confirms for this user as they are now, or None if the token is not valid."""
    if len(token) > LONGEST:
        return None
    try:
        content = _signer.unsign_object(token)
    except (BadSignature, ValueError):
        return None
    at = datetime.fromtimestamp(content["at"], UTC)
    if not is_recent(at, within=LIFETIME, now=clock.now()) or not constant_time_compare(
        content["of"], _fingerprint(user)
    ):
        return None
    return str(content["email"])


def _fingerprint(user: User) -> str:
    covered = [str(user.pk), user.email, user.session_version, user.is_active, user.is_staff, user.is_superuser]
    return salted_hmac(f"{__name__}.fingerprint", json.dumps(covered), algorithm="sha256").hexdigest()
