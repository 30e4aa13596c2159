"""The session between the password and the code. It identifies a user but gives no access."""

from datetime import timedelta

from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

from accounts.dashboard.session.expiring_values import get_unexpired, set_with_expiry
from accounts.models import User

LIFETIME = timedelta(minutes=5)
_SESSION_KEY = "pending_sign_in"


def begin(request: HttpRequest, user: User) -> None:
    """Records in a new session that the user gave the right password."""
    request.session.flush()
    request.session.set_expiry(LIFETIME)
    set_with_expiry(request.session, _SESSION_KEY, [str(user.pk), user.get_session_auth_hash()], lifetime=LIFETIME)


def find_user(request: HttpRequest) -> User | None:
    """Returns the user who gave the right password in this session. None if it expired or the password changed."""
    user_id, auth_hash = get_unexpired(request.session, _SESSION_KEY) or ("", "")
    user = User.objects.filter(pk=user_id, is_active=True).first() if user_id else None
    if user is None or not constant_time_compare(auth_hash, user.get_session_auth_hash()):
        return None
    return user
