"""Finds out in one cheap query whether any project of an owner has changed, if the database has row versions."""

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
"""The digest of a row's version: the id of the transaction that wrote it (`xmin`) and its place (`ctid`), which differs
between versions of one transaction. https://www.postgresql.org/docs/current/ddl-system-columns.html
"""


class _Version(Func):
    template = _DIGEST
    output_field = BigIntegerField()


class _Versions(Aggregate):
    """The sum of the digests of all rows."""

    template = f"SUM({_DIGEST})"
    output_field = DecimalField()


class _Joined(Func):
    """One text, such as `1234:50:0`."""

    template = "CONCAT_WS(':', %(expressions)s)"
    output_field = CharField()


class _OfThese(Subquery):
    """The same text for the rows of a limited subquery, because Django's aggregates always cover all rows."""

    template = "(SELECT CONCAT_WS(':', SUM(version), COUNT(*), SUM(elsewhere)) FROM (%(subquery)s) AS these)"
    output_field = CharField()


_NONE = "0"
"""The text for no rows if a number of rows was asked for."""


class RowVersions(NamedTuple):
    """`rows` differs if any of the requested projects was added, changed or removed. The rest is of our own watch."""

    rows: str
    heartbeat_at: datetime | None
    watched_until: datetime | None

    @property
    def are_all_here(self) -> bool:
        """Whether no project is of another instance, whose watch is not read."""
        return self.rows.endswith(":0")


def with_row_versions(owners: "QuerySet[User]", *, newest: int | None = None) -> "QuerySet[User, Any]":
    """Returns the users with `COLUMNS`, for all their projects or for the `newest` so many."""
    watch = Watch.objects.filter(instance=settings.BERTH_INSTANCE)
    return owners.annotate(
        versions=_of_all() if newest is None else _of_newest(newest),
        watch_beat=Subquery(watch.values("heartbeat_at")),
        watch_until=Subquery(watch.filter(holds_repairs=False).values("lease_until")),
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
    """Returns None if there is no project."""
    return RowVersions(*columns) if columns[0] and columns[0] != _NONE else None


def are_numbered() -> bool:
    """Returns whether the database has row versions."""
    return connection.vendor == "postgresql"
