"""Finds out in one cheap query whether any row on a project's page has changed, if rows have versions."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import BigIntegerField, OuterRef, QuerySet, Subquery

from accounts.credentials.session_rows import SESSION_COLUMNS, RowVersion, SessionRows, with_session
from accounts.database.compiled_query import CompiledQuery
from projects.models.catalogue import AgentType, Plan
from projects.models.event import Event
from projects.models.figures.run import Run
from projects.models.figures.usage import Spending
from projects.models.project import Project
from projects.models.rows.versions import RowVersions, are_numbered

SHOWN_EVENTS = 50
"""How many of the newest events a page shows."""

_COLUMNS = ("own", "of_plan", "of_type", "of_spending", "of_runs", "of_events", "heartbeat_at", "watched_until")


class _Versions(Subquery):
    """A digest of the versions of all rows of a query, in the query's order."""

    template = "HASHTEXTEXTENDED(ARRAY_TO_STRING(ARRAY(%(subquery)s), ' '), 0)"
    output_field = BigIntegerField()


def read_page_versions(owner_id: UUID, project_id: UUID) -> RowVersions | None:
    """Returns the versions of the project, its plan, type, spending, ended runs and newest events, and our watch.

    Returns None if the database has no row versions, or the owner has no such project of this instance.
    """
    found: Sequence[Any] = _VERSIONS.rows(owner_id, project_id) if are_numbered() else ()
    for columns in found:
        return _make(columns)
    return None


def read_page_versions_in_session(
    owner_id: UUID, project_id: UUID, digest: str
) -> tuple[SessionRows, RowVersions] | None:
    """Returns the same together with the rows of the requesting session and its user."""
    found: Sequence[Any] = _IN_SESSION.rows(owner_id, project_id, digest) if are_numbered() else ()
    for columns in found:
        return SessionRows.read(columns), _make(columns[len(SESSION_COLUMNS) :])
    return None


def _make(columns: Sequence[Any]) -> RowVersions:
    *versions, heartbeat_at, watched_until = columns
    return RowVersions(" ".join(map(str, versions)), heartbeat_at, watched_until)


def _write(owner_id: UUID, project_id: UUID) -> Any:
    return _with_versions(owner_id, project_id).values_list(*_COLUMNS)


def _write_in_session(owner_id: UUID, project_id: UUID, digest: str) -> Any:
    rows = with_session(_with_versions(owner_id, project_id), digest=digest, user_id=owner_id)
    return rows.values_list(*SESSION_COLUMNS, *_COLUMNS)


def _with_versions(owner_id: UUID, project_id: UUID) -> Any:
    project = Project.objects.filter(pk=project_id, owner_id=owner_id, instance=settings.BERTH_INSTANCE)
    newest = Event.objects.filter(project_id=OuterRef("pk")).order_by("-at", "-pk")[:SHOWN_EVENTS]
    return (
        project.with_heartbeat()
        .order_by()
        .annotate(
            own=RowVersion(),
            of_plan=Subquery(_version(Plan.objects.filter(pk=OuterRef("plan_id")))),
            of_type=Subquery(_version(AgentType.objects.filter(pk=OuterRef("agent_type_id")))),
            of_spending=Subquery(_version(Spending.objects.filter(pk=OuterRef("pk")))),
            of_runs=_Versions(_version(Run.objects.filter(project_id=OuterRef("pk")))),
            of_events=_Versions(_version(newest)),
        )
    )


def _version(rows: "QuerySet[Any]") -> Any:
    return rows.annotate(version=RowVersion()).values("version")


_VERSIONS = CompiledQuery(_write, UUID(int=1), UUID(int=2))
_IN_SESSION = CompiledQuery(_write_in_session, UUID(int=1), UUID(int=2), "the digest of a session")
