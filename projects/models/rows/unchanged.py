"""Whether what was made of an owner's rows would be the same if they were read now: one cheap query tells."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import OuterRef, Subquery

from accounts.compiled_query import CompiledQuery
from accounts.models import User
from accounts.moments import is_recent
from projects.models.event import Event
from projects.models.rows.facts import is_watch_alive
from projects.models.rows.steadiness import Steadiness
from projects.models.rows.versions import COLUMNS, RowVersions, are_numbered, make_row_versions, with_row_versions
from projects.rules.status.lifecycle import ANSWERING, FRESH_FOR


class Basis(NamedTuple):
    """What an answer was made of. `steadiness` is that of its rows, `versions` what they were before they were read."""

    versions: RowVersions
    steadiness: Steadiness

    def holds(self, current: RowVersions, now: datetime) -> bool:
        """Whether reading the rows now would give the same, and nobody would ask the engine."""
        beat = current.heartbeat_at
        return (
            current.rows == self.versions.rows
            and beat is not None
            and self.steadiness.holds(beat, now)
            and is_recent(beat, within=FRESH_FOR - ANSWERING, now=now)
            and is_watch_alive(current.watched_until, now)
        )


def read_marks(owner_id: UUID) -> tuple[RowVersions, int] | None:
    """The versions of the owner's rows, and the number of the newest event, 0 where there is none.

    None where the database numbers no versions, and where there is no project.
    """
    rows: Sequence[Any] = _MARKS.rows(owner_id) if are_numbered() else ()
    for *columns, newest in rows:
        versions = make_row_versions(columns)
        return (versions, newest or 0) if versions else None
    return None


def _write(owner_id: UUID) -> Any:
    events = Event.objects.filter(owner_id=OuterRef("pk")).order_by("-at", "-pk").values("pk")[:1]
    owner = with_row_versions(User.objects.filter(pk=owner_id)).annotate(newest_event=Subquery(events))
    return owner.values_list(*COLUMNS, "newest_event")


_MARKS = CompiledQuery(_write, UUID(int=1))
