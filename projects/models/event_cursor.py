"""Cursors: how far each reader of the events has read."""

from datetime import timedelta

from django.db import models

from accounts import clock
from accounts.moments import is_recent
from projects.models.event import Event

GAP_CLOSES_WITHIN = timedelta(seconds=10)
"""How long an id may be missing below a visible one. The INSERT is the last statement of its transaction, so an id that
is still missing after that was rolled back."""


class EventCursor(models.Model):
    """One row per reader. Retention keeps the events that a cursor has not passed."""

    name = models.CharField(primary_key=True, max_length=40)
    last_event_id = models.PositiveBigIntegerField()

    def __str__(self) -> str:
        return f"{self.name} at {self.last_event_id}"

    @staticmethod
    def named(name: str) -> "EventCursor":
        """Returns the cursor with this name. A new one begins after the newest event, so that no past event is read."""
        cursor, _ = EventCursor.objects.get_or_create(name=name, defaults={"last_event_id": newest_event_id()})
        return cursor

    def unread(self, *, limit: int) -> list[Event]:
        """Returns the events after the cursor, oldest first.

        On PostgreSQL an event with a lower id may become visible after one with a higher id. Reading therefore stops
        before a missing id until `GAP_CLOSES_WITHIN` has passed.
        """
        found: list[Event] = []
        expected = self.last_event_id + 1
        now = clock.now()
        for event in Event.objects.filter(pk__gt=self.last_event_id).order_by("pk")[:limit]:
            if event.pk != expected and is_recent(event.at, within=GAP_CLOSES_WITHIN, now=now):
                break
            found.append(event)
            expected = event.pk + 1
        return found

    def advance(self, event_id: int) -> None:
        """Moves the cursor forwards, never back, because another process may have read further."""
        if event_id > self.last_event_id:
            EventCursor.objects.filter(pk=self.pk, last_event_id__lt=event_id).update(last_event_id=event_id)
            self.last_event_id = event_id


def newest_event_id() -> int:
    return Event.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
