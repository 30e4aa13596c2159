"""A session that is ended while its request is being answered makes no other way in."""

from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session

from accounts.credentials.dashboard_sessions import digest_session_key
from accounts.errors import InvalidTokenError
from accounts.http import Credential
from accounts.models import RevokedSession, User

ASK_AGAIN_AFTER = 2.0
"""Seconds for which an answer that is being made need not ask whether who gets it is still let in."""

SignedInBy = SessionBase | Credential | None
"""What let a request in: `request.session` of a page, `request.auth` of the API. None where no session did."""


def lock_if_still_signed_in(user: User, session: SignedInBy) -> User:
    """Returns the user's row, locked until the transaction ends. Signing out waits for that.

    `user` is as the request was authenticated with. Raises `InvalidTokenError` where `session` has been ended since, by
    itself or with all sessions of the user: by a new password, a change of rights, or by hand.
    """
    locked = User.objects.select_for_update().filter(pk=user.pk).first()
    if locked is None or not locked.is_active or locked.session_version != user.session_version:
        raise InvalidTokenError
    if not _lock_if_open(session):
        raise InvalidTokenError
    return locked


def _lock_if_open(session: SignedInBy) -> bool:
    if isinstance(session, SessionBase):
        # The row goes when it is signed out. Who deletes it waits for who has it locked.
        row = Session.objects.select_for_update().filter(session_key=digest_session_key(session.session_key or ""))
        return row.first() is not None
    if session is None or session.jti is None:
        return True
    # Here a row comes when it is signed out, by somebody who has locked the user.
    return not RevokedSession.objects.filter(jti=session.jti).exists()
