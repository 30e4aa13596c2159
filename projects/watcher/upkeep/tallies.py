"""Adds events to the tallies, before retention deletes them."""

from collections import Counter

from django.db import transaction

from projects.models import EventCursor
from projects.models.figures.tally import Labels, Subject, count_on
from projects.services.staff.metrics import CURSOR

BATCH = 500
MOST_BATCHES = 40
"""The maximum number of batches that one call reads. It is called twice a minute."""


def tally_events() -> None:
    """Counts new events with its own cursor. If two watchers do so at once, only one of them counts each event."""
    cursor, _ = EventCursor.objects.get_or_create(name=CURSOR, defaults={"last_event_id": 0})
    for _ in range(MOST_BATCHES):
        events = cursor.unread(limit=BATCH)
        if not events:
            return
        with transaction.atomic():
            here = EventCursor.objects.filter(pk=cursor.pk, last_event_id=cursor.last_event_id)
            if not here.update(last_event_id=events[-1].pk):
                return
            count_on(Subject.EVENTS, Counter(Labels(event.action, event.outcome) for event in events))
        cursor.last_event_id = events[-1].pk
