"""Whether any row that the page of one project shows has changed, in one cheap query, where rows have versions."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import BigIntegerField, CharField, Func, OuterRef, QuerySet, Subquery

from accounts.compiled_query import CompiledQuery
from projects.models.catalogue import AgentType, Plan
from projects.models.event import Event
from projects.models.figures.run import Run
from projects.models.figures.usage import Spending
from projects.models.project import Project
from projects.models.rows.versions import RowVersions, are_numbered

SHOWN_EVENTS = 50
"""How many of the newest events a page shows."""

_VERSIONED = ("own", "of_plan", "of_type", "of_spending", "of_runs", "of_events")


class _Version(Func):
    """Of a row of the one table that the query reads: as in `versions`."""

    template = "xmin::text || ctid::text"
    output_field = CharField()


class _Versions(Subquery):
    """A digest of the versions of all rows of a query, in its order."""

    template = "HASHTEXTEXTENDED(ARRAY_TO_STRING(ARRAY(%(subquery)s), ' '), 0)"
    output_field = BigIntegerField()


def read_page_versions(owner_id: UUID, project_id: UUID) -> RowVersions | None:
    """Those of the project, its plan and type, its spending, its ended runs and its newest events, and of our watch.

    None where the database numbers no versions, and where the owner has no such project of this instance.
    """
    found: Sequence[Any] = _VERSIONS.rows(owner_id, project_id) if are_numbered() else ()
    for *versions, heartbeat_at, watched_until in found:
        return RowVersions(" ".join(map(str, versions)), heartbeat_at, watched_until)
    return None


def _write(owner_id: UUID, project_id: UUID) -> Any:
    project = Project.objects.filter(pk=project_id, owner_id=owner_id, instance=settings.BERTH_INSTANCE)
    newest = Event.objects.filter(project_id=OuterRef("pk")).order_by("-at", "-pk")[:SHOWN_EVENTS]
    return (
        project.with_heartbeat()
        .order_by()
        .annotate(
            own=_Version(),
            of_plan=Subquery(_version(Plan.objects.filter(pk=OuterRef("plan_id")))),
            of_type=Subquery(_version(AgentType.objects.filter(pk=OuterRef("agent_type_id")))),
            of_spending=Subquery(_version(Spending.objects.filter(pk=OuterRef("pk")))),
            of_runs=_Versions(_version(Run.objects.filter(project_id=OuterRef("pk")))),
            of_events=_Versions(_version(newest)),
        )
        .values_list(*_VERSIONED, "heartbeat_at", "watched_until")
    )


def _version(rows: "QuerySet[Any]") -> Any:
    return rows.annotate(version=_Version()).values("version")


_VERSIONS = CompiledQuery(_write, UUID(int=1), UUID(int=2))
