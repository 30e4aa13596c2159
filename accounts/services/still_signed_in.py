"""Prevents a session that ends during a request from creating another way in."""

from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session

from accounts.credentials.dashboard_sessions import digest_session_key
from accounts.errors import InvalidTokenError
from accounts.http import Credential
from accounts.models import RevokedSession, User

ASK_AGAIN_AFTER = 2.0
"""Seconds after which an answer in progress must check again whether its recipient is still signed in."""

SignedInBy = SessionBase | Credential | None
"""What authenticated a request: `request.session` of a page, or `request.auth` of the API. None if no session did."""


def lock_if_still_signed_in(user: User, session: SignedInBy) -> User:
    """Returns the user's row, locked until the transaction ends. Signing out waits for the lock.

    `user` is the user as the request was authenticated. Raises `InvalidTokenError` if `session` has ended since, alone
    or with all sessions of the user (a new password, a change of rights, or by hand).
    """
    locked = User.objects.select_for_update().filter(pk=user.pk).first()
    if locked is None or not locked.is_active or locked.session_version != user.session_version:
        raise InvalidTokenError
    if not _lock_if_open(session):
        raise InvalidTokenError
    return locked


def _lock_if_open(session: SignedInBy) -> bool:
    if isinstance(session, SessionBase):
        # Signing out deletes the row, and waits for its lock.
        row = Session.objects.select_for_update().filter(session_key=digest_session_key(session.session_key or ""))
        return row.first() is not None
    if session is None or session.jti is None:
        return True
    # Signing out creates a row here, after it has locked the user.
    return not RevokedSession.objects.filter(jti=session.jti).exists()
