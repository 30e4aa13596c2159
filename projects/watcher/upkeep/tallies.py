"""Counts the events on, before retention deletes them."""

from collections import Counter

from django.db import transaction

from projects.models import EventCursor
from projects.models.figures.tally import Labels, Subject, count_on
from projects.services.staff.metrics import CURSOR

BATCH = 500
MOST_BATCHES = 40
"""That one call reads at most. It is made twice a minute."""


def tally_events() -> None:
    """Reads from a cursor of its own. Where another watcher does the same, one of them has counted each event."""
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
