"""What a session must not do once it has been ended, even by a request that began before: make another way in."""

from accounts.errors import InvalidTokenError
from accounts.models import User


def lock_if_still_signed_in(user: User) -> User:
    """Returns the user's row, locked until the transaction ends.

    `user` is as the request was authenticated with. Raises `InvalidTokenError` where all sessions of the user have been
    ended since: by a new password, a change of rights, or by hand.
    """
    locked = User.objects.select_for_update().filter(pk=user.pk).first()
    if locked is None or not locked.is_active or locked.session_version != user.session_version:
        raise InvalidTokenError
    return locked
