"""Events are deleted when they are too old and their readers had time to read them."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from accounts.models import User
from projects.models import Event, EventCursor
from projects.watcher.upkeep.retention import prune
from tests.projects.watcher.old_rows import event


def test_an_unread_event_is_kept_for_its_reader_for_a_week(alice: User, settings: Any) -> None:
    """No longer than that: a reader that is switched off would keep all events forever."""
    settings.BERTH_EVENTS_DAYS = 2
    now = timezone.now()
    first, forgotten, second = (event(alice, now - timedelta(days=days)) for days in (6, 8, 6))
    assert forgotten.pk > first.pk
    EventCursor.objects.create(name="slow", last_event_id=first.pk)
    EventCursor.objects.create(name="quick", last_event_id=second.pk)
    list(prune())
    assert Event.objects.get() == second


def test_the_operator_sets_how_long_events_are_kept(alice: User, settings: Any) -> None:
    settings.BERTH_EVENTS_DAYS = 2
    event(alice, timezone.now() - timedelta(days=3))
    young = event(alice, timezone.now() - timedelta(days=1))
    list(prune())
    assert Event.objects.get() == young
