"""How many events are kept and for how long, and which ones are surplus."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, Min, Q, QuerySet

from projects.models.event import BY_STAFF, Event
from projects.models.event_cursor import EventCursor

MOST_OF_A_PROJECT = 5_000
MOST_OF_AN_OWNER = 50_000
"""The maximum number of events, not counting those of staff, so that an owner cannot push these out of the table."""

READERS_HAVE = timedelta(days=7)
"""After this time no event waits for a reader, which may be switched off: a mail a week late helps nobody."""

LOOKED_BACK = timedelta(days=1)
"""Only projects and owners with events in this time can have too many now, because the watcher checks every hour."""


def find_surplus_events(now: datetime) -> Iterator[QuerySet[Event]]:
    """Yields queries for the events that are too old, and for the oldest of projects and owners with too many."""
    readable = _find_passed(now)
    yield readable.filter(at__lt=now - timedelta(days=settings.BERTH_EVENTS_DAYS))
    for column, most in (("project_id", MOST_OF_A_PROJECT), ("owner_id", MOST_OF_AN_OWNER)):
        for key in _find_crowded(column, most, now):
            rows = Event.objects.filter(**{column: key}).exclude(source=BY_STAFF)
            oldest_kept = rows.order_by("-pk").values_list("pk", flat=True)[most - 1 : most].first()
            if oldest_kept is not None:
                yield readable.filter(**{column: key}, pk__lt=oldest_kept).exclude(source=BY_STAFF)


def _find_passed(now: datetime) -> QuerySet[Event]:
    """Returns the events that every reader has read or had time to read. Without cursors there are no readers."""
    passed = EventCursor.objects.aggregate(least=Min("last_event_id"))["least"]
    if passed is None:
        return Event.objects.all()
    return Event.objects.filter(Q(pk__lte=passed) | Q(at__lt=now - READERS_HAVE))


def _find_crowded(column: str, most: int, now: datetime) -> list[object]:
    recent = Event.objects.filter(at__gte=now - LOOKED_BACK).order_by().values(column).distinct()
    rows = Event.objects.filter(**{f"{column}__in": recent}).order_by().values(column)
    return list(rows.annotate(events=Count("pk")).filter(events__gt=most).values_list(column, flat=True))
