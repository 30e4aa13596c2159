"""Finds out in one cheap query whether a response built from an owner's rows would still be the same."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import OuterRef, Subquery

from accounts.credentials.session_rows import SESSION_COLUMNS, SessionRows, with_session
from accounts.database.compiled_query import CompiledQuery
from accounts.models import User
from accounts.moments import is_recent
from projects.models.columns.facts import is_watch_alive
from projects.models.event import Event
from projects.models.rows.steadiness import Steadiness
from projects.models.rows.versions import COLUMNS, RowVersions, are_numbered, make_row_versions, with_row_versions
from projects.rules.status.lifecycle import ANSWERING, FRESH_FOR


class ResponseBasis(NamedTuple):
    """What a response was built from: the steadiness of its rows, and their versions before they were read."""

    versions: RowVersions
    steadiness: Steadiness

    def holds(self, current: RowVersions, now: datetime) -> bool:
        """Returns whether reading the rows now would give the same, without asking the engine."""
        beat = current.heartbeat_at
        return (
            current.rows == self.versions.rows
            and beat is not None
            and self.steadiness.holds(beat, now)
            and is_recent(beat, within=FRESH_FOR - ANSWERING, now=now)
            and is_watch_alive(current.watched_until, now)
        )


class Marks(NamedTuple):
    """Marks that differ if a list of the owner's projects may differ. `newest_event` is an id, or 0 without events."""

    versions: RowVersions
    newest_event: int


def read_marks(owner_id: UUID) -> Marks | None:
    """Returns None if the database has no row versions, or the owner has no project."""
    rows: Sequence[Any] = _MARKS.rows(owner_id) if are_numbered() else ()
    for columns in rows:
        return _make(columns)
    return None


def read_marks_in_session(owner_id: UUID, digest: str) -> tuple[SessionRows, Marks | None] | None:
    """Returns the same together with the rows of the requesting session and its user."""
    rows: Sequence[Any] = _IN_SESSION.rows(owner_id, digest) if are_numbered() else ()
    for columns in rows:
        return SessionRows.read(columns), _make(columns[len(SESSION_COLUMNS) :])
    return None


def _make(columns: Sequence[Any]) -> Marks | None:
    *watched, newest = columns
    versions = make_row_versions(watched)
    return Marks(versions, newest or 0) if versions else None


def _write(owner_id: UUID) -> Any:
    return _with_marks(owner_id).values_list(*COLUMNS, "newest_event")


def _write_in_session(owner_id: UUID, digest: str) -> Any:
    rows = with_session(_with_marks(owner_id), digest=digest, user_id=owner_id)
    return rows.values_list(*SESSION_COLUMNS, *COLUMNS, "newest_event")


def _with_marks(owner_id: UUID) -> Any:
    events = Event.objects.filter(owner_id=OuterRef("pk")).order_by("-at", "-pk").values("pk")[:1]
    return with_row_versions(User.objects.filter(pk=owner_id)).annotate(newest_event=Subquery(events))


_MARKS = CompiledQuery(_write, UUID(int=1))
_IN_SESSION = CompiledQuery(_write_in_session, UUID(int=1), "the digest of a session")
