"""Streams changes of a user's projects: each change of a status, and each event."""

import json
import time
from collections.abc import Generator, Iterable, Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from accounts import clock
from accounts.models import User
from projects.api.fast_json import render_list
from projects.api.lists.event_pages import MOST, show_id
from projects.api.serializers.reports import OwnEventSerializer
from projects.api.streams.revalidation import release_connection
from projects.models import Event
from projects.models.event_cursor import GAP_CLOSES_WITHIN
from projects.models.rows.project import OwnRows
from projects.services.observation import refresh_rows

POLL_SECONDS = 1.0
"""Seconds between two polls. A new status is sent within this and the time that the watcher takes."""


class NewEvents:
    """The events of an owner from a moment on, each once, oldest first. `sent`: events to leave out, with their times.

    On PostgreSQL an event may become visible after a younger one. Therefore recent events are read again, without those
    that were already sent.
    """

    def __init__(self, owner_id: UUID, *, since: datetime, sent: Iterable[tuple[int, datetime]] = ()) -> None:
        self._owner_id = owner_id
        self._since = since
        self._sent = dict(sent)

    @classmethod
    def after(cls, event: Event) -> "NewEvents":
        """Begins after this event, and with those shortly before it.

        One of them may have become visible after its reader had got this event, and nobody knows which it has.
        """
        return cls(event.owner_id, since=event.at - GAP_CLOSES_WITHIN, sent=[(event.pk, event.at)])

    @classmethod
    def from_now(cls, owner_id: UUID) -> "NewEvents":
        """Begins with the events that are not visible yet."""
        since = clock.now() - GAP_CLOSES_WITHIN
        visible = Event.objects.filter(owner_id=owner_id, at__gte=since).order_by().values_list("pk", "at")
        return cls(owner_id, since=since, sent=visible)

    def read(self) -> list[Event]:
        events = Event.objects.filter(owner_id=self._owner_id, at__gte=self._since).exclude(pk__in=list(self._sent))
        found = list(events.order_by("at", "pk")[:MOST])
        self._sent |= {event.pk: event.at for event in found}
        settled = clock.now() - GAP_CLOSES_WITHIN
        self._forget(min(settled, found[-1].at) if len(found) == MOST else settled)
        return found

    def _forget(self, before: datetime) -> None:
        self._since = max(self._since, before)
        self._sent = {number: at for number, at in self._sent.items() if at >= self._since}


def stream_changes(owner: User, *, after: Event | None) -> Generator[str, None, None]:
    """Yields blocks of server-sent events: first each project and the events after the given one, then all changes.

    After a given event, some before it may come again.

    An empty block ends each poll. It takes a database connection only during a poll.
    """
    events = NewEvents.after(after) if after else NewEvents.from_now(owner.pk)
    sent: dict[str, dict[str, Any]] = {}
    while True:
        rows = json.loads(render_list(refresh_rows(OwnRows(owner.pk)[:])))
        happened = events.read()
        release_connection()
        current = {row["id"]: row for row in rows}
        yield from _write_changes(sent, current)
        yield from (_block("event", _show(event), event_id=show_id(event.pk)) for event in happened)
        sent = current
        yield ""
        time.sleep(POLL_SECONDS)


def _write_changes(sent: dict[str, dict[str, Any]], current: dict[str, dict[str, Any]]) -> Iterator[str]:
    yield from (_block("status", row) for project_id, row in current.items() if row != sent.get(project_id))
    yield from (_block("gone", {"id": project_id}) for project_id in sent.keys() - current.keys())


def _show(event: Event) -> dict[str, Any]:
    return dict(OwnEventSerializer(event).data)


def _block(name: str, data: dict[str, Any], *, event_id: UUID | None = None) -> str:
    """Returns a block. The JSON has no line breaks, because it escapes those in strings."""
    named = f"id: {event_id}\n" if event_id else ""
    return f"{named}event: {name}\ndata: {json.dumps(data)}"
