"""A session that is ended while its request is being answered makes no other way in."""

from accounts.errors import InvalidTokenError
from accounts.models import User

ASK_AGAIN_AFTER = 2.0
"""Seconds for which an answer that is being made need not ask whether who gets it is still let in."""


def lock_if_still_signed_in(user: User) -> User:
    """Returns the user's row, locked until the transaction ends.

    `user` is as the request was authenticated with. Raises `InvalidTokenError` where all sessions of the user have been
    ended since: by a new password, a change of rights, or by hand.
    """
    locked = User.objects.select_for_update().filter(pk=user.pk).first()
    if locked is None or not locked.is_active or locked.session_version != user.session_version:
        raise InvalidTokenError
    return locked
