"""Whether any project of an owner has changed, in one cheap query, where the database numbers versions of rows."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection
from django.db.models import (
    Aggregate,
    BigIntegerField,
    Case,
    CharField,
    Count,
    DecimalField,
    Func,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    When,
)

from accounts.models import User
from projects.models.processes.watcher import Watch
from projects.models.project import Project

COLUMNS = ("versions", "watch_beat", "watch_until")

_DIGEST = "hashtextextended(xmin::text || ctid::text, uuid_hash_extended(%(expressions)s, 0))"
"""Of a version of a row. PostgreSQL has the number of the transaction that wrote it (`xmin`), and its place (`ctid`),
which differs between versions of one transaction. https://www.postgresql.org/docs/current/ddl-system-columns.html
"""


class _Version(Func):
    template = _DIGEST
    output_field = BigIntegerField()


class _Versions(Aggregate):
    """A sum of digests, one for each row."""

    template = f"SUM({_DIGEST})"
    output_field = DecimalField()


class _Joined(Func):
    """One text, such as `1234:50:0`."""

    template = "CONCAT_WS(':', %(expressions)s)"
    output_field = CharField()


class _OfThese(Subquery):
    """The same text of as many rows as the subquery has. An aggregate of Django's is always of all rows."""

    template = "(SELECT CONCAT_WS(':', SUM(version), COUNT(*), SUM(elsewhere)) FROM (%(subquery)s) AS these)"
    output_field = CharField()


_NONE = "0"
"""What is said of no rows at all, where a number of them was asked for."""


class RowVersions(NamedTuple):
    """`rows` are equal only where none came, changed or went of the owner's projects that were asked for. The rest is
    of our own watch.
    """

    rows: str
    heartbeat_at: datetime | None
    watched_until: datetime | None

    @property
    def are_all_here(self) -> bool:
        """Whether no project is of another instance, whose watch is not looked at."""
        return self.rows.endswith(":0")


def with_row_versions(owners: "QuerySet[User]", *, newest: int | None = None) -> "QuerySet[User, Any]":
    """The users with `COLUMNS`: of all their projects, or of so many."""
    watch = Watch.objects.filter(instance=settings.BERTH_INSTANCE)
    return owners.annotate(
        versions=_of_all() if newest is None else _of_newest(newest),
        watch_beat=Subquery(watch.values("heartbeat_at")),
        watch_until=Subquery(watch.values("lease_until")),
    )


def _of_all() -> Subquery:
    elsewhere = Count("id", filter=~Q(instance=settings.BERTH_INSTANCE))
    projects = Project.objects.order_by().filter(owner_id=OuterRef("pk")).values("owner_id")
    versions = projects.annotate(versions=_Joined(_Versions("id"), Count("id"), elsewhere))
    return Subquery(versions.values("versions"))


def _of_newest(count: int) -> Subquery:
    elsewhere = Case(When(instance=settings.BERTH_INSTANCE, then=0), default=1)
    projects = Project.objects.filter(owner_id=OuterRef("pk")).annotate(version=_Version("id"), elsewhere=elsewhere)
    return _OfThese(projects.values("version", "elsewhere")[:count])


def make_row_versions(columns: Sequence[Any]) -> RowVersions | None:
    """None where there is no project."""
    return RowVersions(*columns) if columns[0] and columns[0] != _NONE else None


def are_numbered() -> bool:
    """Whether the database numbers versions."""
    return connection.vendor == "postgresql"
