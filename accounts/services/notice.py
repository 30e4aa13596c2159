"""What the staff tell everybody, and what is refused while they are at work."""

from accounts.errors import MaintenanceError
from accounts.models import Notice, User


def read_notice() -> Notice:
    """The row as it is now; an empty one where there is none."""
    return Notice.objects.filter(pk=1).first() or Notice()


def check_maintenance(user: object) -> None:
    """Called before a change. Raises `MaintenanceError` while the staff are at work, but for the staff."""
    if isinstance(user, User) and user.is_active and user.is_staff:
        return
    notice = read_notice()
    if notice.is_maintenance:
        raise MaintenanceError(notice.text)
