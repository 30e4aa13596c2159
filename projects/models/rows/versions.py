"""Whether any project of an owner has changed, in one cheap query, where the database numbers versions of rows."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection
from django.db.models import Aggregate, CharField, Count, DecimalField, Func, OuterRef, Q, QuerySet, Subquery

from accounts.models import User
from projects.models.processes.watcher import Watch
from projects.models.project import Project

COLUMNS = ("versions", "watch_beat", "watch_until")


class _Versions(Aggregate):
    """A sum of digests, one for each version of a row.

    PostgreSQL has the number of the transaction that wrote it (`xmin`), and its place (`ctid`), which differs between
    versions of one transaction. https://www.postgresql.org/docs/current/ddl-system-columns.html
    """

    template = "SUM(hashtextextended(xmin::text || ctid::text, uuid_hash_extended(%(expressions)s, 0)))"
    output_field = DecimalField()


class _Joined(Func):
    """One text, such as `1234:50:0`."""

    template = "CONCAT_WS(':', %(expressions)s)"
    output_field = CharField()


class RowVersions(NamedTuple):
    """`rows` are equal only where no project of the owner came, changed or went. The rest is of our own watch."""

    rows: str
    heartbeat_at: datetime | None
    watched_until: datetime | None

    @property
    def are_all_here(self) -> bool:
        """Whether no project is of another instance, whose watch is not looked at."""
        return self.rows.endswith(":0")


def with_row_versions(owners: "QuerySet[User]") -> "QuerySet[User, Any]":
    """The users with `COLUMNS`."""
    watch = Watch.objects.filter(instance=settings.BERTH_INSTANCE)
    elsewhere = Count("id", filter=~Q(instance=settings.BERTH_INSTANCE))
    projects = Project.objects.order_by().filter(owner_id=OuterRef("pk")).values("owner_id")
    versions = projects.annotate(versions=_Joined(_Versions("id"), Count("id"), elsewhere)).values("versions")
    return owners.annotate(
        versions=Subquery(versions),
        watch_beat=Subquery(watch.values("heartbeat_at")),
        watch_until=Subquery(watch.values("lease_until")),
    )


def make_row_versions(columns: Sequence[Any]) -> RowVersions | None:
    """None where there is no project."""
    return RowVersions(*columns) if columns[0] else None


def are_numbered() -> bool:
    """Whether the database numbers versions."""
    return connection.vendor == "postgresql"
