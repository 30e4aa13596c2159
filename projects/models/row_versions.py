"""Whether any project of an owner has changed, in one cheap query, where the database numbers versions of rows."""

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import Aggregate, Count, DecimalField, Q, QuerySet, Subquery

from accounts.compiled_query import CompiledQuery
from projects.models.project import Project
from projects.models.watcher import Watch


class _Versions(Aggregate):
    """A sum of digests, one for each version of a row.

    PostgreSQL has the number of the transaction that wrote it (`xmin`), and its place (`ctid`), which differs between
    versions of one transaction. https://www.postgresql.org/docs/current/ddl-system-columns.html
    """

    template = "SUM(hashtextextended(xmin::text || ctid::text, uuid_hash_extended(%(expressions)s, 0)))"
    output_field = DecimalField()


class RowVersions(NamedTuple):
    """`rows` are equal only where no project of the owner came, changed or went. The rest is of our own watch."""

    versions: Any
    number: int
    elsewhere: int
    """Projects of other instances, whose watches are not looked at."""
    heartbeat_at: datetime | None
    watched_until: datetime | None

    @property
    def rows(self) -> tuple[Any, int, int]:
        return self.versions, self.number, self.elsewhere


def _row_versions(owner_id: UUID) -> "QuerySet[Project, Any]":
    watch = Watch.objects.filter(instance=settings.BERTH_INSTANCE)
    by_owner = Project.objects.order_by().filter(owner_id=owner_id).values("owner_id")
    return by_owner.annotate(
        versions=_Versions("id"),
        number=Count("id"),
        elsewhere=Count("id", filter=~Q(instance=settings.BERTH_INSTANCE)),
        watch_beat=Subquery(watch.values("heartbeat_at")),
        watch_until=Subquery(watch.values("lease_until")),
    ).values_list("versions", "number", "elsewhere", "watch_beat", "watch_until")


_VERSIONS = CompiledQuery(_row_versions, UUID(int=1))


def read_row_versions(owner_id: UUID) -> RowVersions | None:
    """None where there is no project, or the database does not number versions."""
    if connection.vendor != "postgresql":
        return None
    return next((RowVersions(*row) for row in _VERSIONS.rows(owner_id)), None)
