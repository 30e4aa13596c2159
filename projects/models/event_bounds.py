"""How many events are kept, for how long, and which are surplus by now."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, Min, Q, QuerySet

from projects.models.event import BY_STAFF, Event
from projects.models.event_cursor import EventCursor

MOST_OF_A_PROJECT = 5_000
MOST_OF_AN_OWNER = 50_000
"""Events, beside those of what staff did: an owner who fills the table must not push these out of it."""

READERS_HAVE = timedelta(days=7)
"""After this nothing waits for a reader any more, which may be switched off: a mail of a week ago helps nobody."""

LOOKED_BACK = timedelta(days=1)
"""Only who had events since then can have more than before. The watcher looks every hour."""


def find_surplus_events(now: datetime) -> Iterator[QuerySet[Event]]:
    """Yields those that are too old, and of each project and owner with too many the oldest."""
    readable = _find_passed(now)
    yield readable.filter(at__lt=now - timedelta(days=settings.BERTH_EVENTS_DAYS))
    for column, most in (("project_id", MOST_OF_A_PROJECT), ("owner_id", MOST_OF_AN_OWNER)):
        for key in _find_crowded(column, most, now):
            rows = Event.objects.filter(**{column: key}).exclude(source=BY_STAFF)
            oldest_kept = rows.order_by("-pk").values_list("pk", flat=True)[most - 1 : most].first()
            if oldest_kept is not None:
                yield readable.filter(**{column: key}, pk__lt=oldest_kept).exclude(source=BY_STAFF)


def _find_passed(now: datetime) -> QuerySet[Event]:
    """What every reader has read, or has had its time to read. Without a cursor there is no reader."""
    passed = EventCursor.objects.aggregate(least=Min("last_event_id"))["least"]
    if passed is None:
        return Event.objects.all()
    return Event.objects.filter(Q(pk__lte=passed) | Q(at__lt=now - READERS_HAVE))


def _find_crowded(column: str, most: int, now: datetime) -> list[object]:
    recent = Event.objects.filter(at__gte=now - LOOKED_BACK).order_by().values(column).distinct()
    rows = Event.objects.filter(**{f"{column}__in": recent}).order_by().values(column)
    return list(rows.annotate(events=Count("pk")).filter(events__gt=most).values_list(column, flat=True))
