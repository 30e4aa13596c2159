"""Between the password and the code: a session that names a user and lets nobody in."""

from datetime import timedelta

from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

from accounts.dashboard.expiring_values import get_unexpired, set_with_expiry
from accounts.models import User

LIFETIME = timedelta(minutes=5)
_NAME = "half_signed_in"


def begin(request: HttpRequest, user: User) -> None:
    """In a new session, so that nobody else knows its name."""
    request.session.flush()
    request.session.set_expiry(LIFETIME)
    set_with_expiry(request.session, _NAME, [str(user.pk), user.get_session_auth_hash()], lifetime=LIFETIME)


def find_user(request: HttpRequest) -> User | None:
    """Whose password was right in this session; None once it is too long ago, or no longer their password."""
    user_id, auth_hash = get_unexpired(request.session, _NAME) or ("", "")
    user = User.objects.filter(pk=user_id, is_active=True).first() if user_id else None
    if user is None or not constant_time_compare(auth_hash, user.get_session_auth_hash()):
        return None
    return user
