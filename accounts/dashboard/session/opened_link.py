"""The session between opening a set-password link and sending the form. It names the user but holds no token."""

from datetime import timedelta

from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

from accounts.credentials.set_password_tokens import fingerprint
from accounts.dashboard.session.expiring_values import discard, get_unexpired, set_with_expiry
from accounts.models import User
from accounts.services.set_password_links import find_linked_user

LIFETIME = timedelta(hours=1)
_SESSION_KEY = "opened_link"


def remember(request: HttpRequest, user: User) -> None:
    """Records under a new session key that the visitor has a valid link of this user in the user's current state."""
    request.session.cycle_key()
    set_with_expiry(request.session, _SESSION_KEY, [str(user.pk), fingerprint(user)], lifetime=LIFETIME)


def find_user(request: HttpRequest, uid: str) -> User | None:
    """Returns the user if this session opened a link of theirs and nothing that the link covers has changed since."""
    user_id, remembered = get_unexpired(request.session, _SESSION_KEY) or ("", "")
    user = find_linked_user(uid)
    if user is None or str(user.pk) != user_id or not constant_time_compare(remembered, fingerprint(user)):
        return None
    return user


def forget(request: HttpRequest) -> None:
    discard(request.session, _SESSION_KEY)
