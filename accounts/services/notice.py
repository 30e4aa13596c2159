"""What the staff tell everybody, and what is refused while they are at work."""

import time

from django.db.models import QuerySet, Subquery

from accounts.errors import MaintenanceError
from accounts.models import Notice, User

KEPT_FOR = 2.0
"""Seconds for which a process shows the notice that it has read. What is refused goes by the row as it is."""

_kept: tuple[float, Notice] | None = None
"""Until when by the monotonic clock, and what."""


def read_notice() -> Notice:
    """The row as it is now; an empty one where there is none."""
    return Notice.objects.filter(pk=1).first() or Notice()


def read_shown_notice() -> Notice:
    """For pages, which would each ask the database once more: as it is, or was `KEPT_FOR` ago at most."""
    global _kept  # noqa: PLW0603 - of this process, replaced as a whole
    kept, now = _kept, time.monotonic()
    if kept is not None and now < kept[0]:
        return kept[1]
    notice = read_notice()
    _kept = now + KEPT_FOR, notice
    return notice


def with_maintenance() -> "QuerySet[User]":
    """Users, and in `maintenance` the text of the notice while the staff are at work, or null."""
    at_work = Notice.objects.filter(pk=1, is_maintenance=True)
    return User.objects.annotate(maintenance=Subquery(at_work.values("text")))


def check_maintenance(user: object) -> None:
    """Called before a change. Raises `MaintenanceError` while the staff are at work, but for the staff."""
    notice = read_notice()
    refuse_in_maintenance(user, notice.text if notice.is_maintenance else None)


def refuse_in_maintenance(user: object, maintenance: str | None) -> None:
    """As `check_maintenance`, for who was read `with_maintenance` just now."""
    is_staff = isinstance(user, User) and user.is_active and user.is_staff
    if maintenance is not None and not is_staff:
        raise MaintenanceError(maintenance)
