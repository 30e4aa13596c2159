"""The staff's notice to everyone, and what is refused during maintenance."""

import time

from django.db.models import QuerySet, Subquery

from accounts.errors import MaintenanceError
from accounts.models import Notice, User

KEPT_FOR = 2.0
"""Seconds for which a process shows the notice that it has read. Refusals always use the current row."""

_kept: tuple[float, Notice] | None = None
"""When the notice expires by the monotonic clock, and its text."""


def read_notice() -> Notice:
    """Returns the current row, or an empty one if there is none."""
    return Notice.objects.filter(pk=1).first() or Notice()


def read_shown_notice() -> Notice:
    """Returns the notice for pages, at most `KEPT_FOR` seconds old, without a query for each page."""
    global _kept  # noqa: PLW0603 - of this process, replaced as a whole
    kept, now = _kept, time.monotonic()
    if kept is not None and now < kept[0]:
        return kept[1]
    notice = read_notice()
    _kept = now + KEPT_FOR, notice
    return notice


def maintenance_text() -> Subquery:
    """Returns an expression for the text of the notice during maintenance, or null."""
    return Subquery(Notice.objects.filter(pk=1, is_maintenance=True).values("text"))


def with_maintenance() -> "QuerySet[User]":
    """Annotates users with `maintenance`, the `maintenance_text`."""
    return User.objects.annotate(maintenance=maintenance_text())


def check_maintenance(user: object) -> None:
    """Call before a change. Raises `MaintenanceError` during maintenance, except for staff."""
    notice = read_notice()
    refuse_in_maintenance(user, notice.text if notice.is_maintenance else None)


def refuse_in_maintenance(user: object, maintenance: str | None) -> None:
    """Like `check_maintenance`, for a user who was just read `with_maintenance`."""
    is_staff = isinstance(user, User) and user.is_active and user.is_staff
    if maintenance is not None and not is_staff:
        raise MaintenanceError(maintenance)
