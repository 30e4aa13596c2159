"""How the stream of events finds what is new."""

from datetime import timedelta
from uuid import uuid4

from django.utils import timezone

from accounts.models import User
from projects.api.streams.statuses import NewEvents
from projects.models import Event


def test_an_event_committed_late_is_sent_once(alice: User) -> None:
    now = timezone.now()
    reader = NewEvents(alice.pk, since=now - timedelta(seconds=1))
    one, two, late = (
        Event(owner_id=alice.pk, project_id=uuid4(), at=now, actor="x", source="x", action=name, outcome="ok")
        for name in ("one", "two", "late")
    )
    one.save()
    assert [event.action for event in reader.read()] == ["one"]
    two.save()
    assert [event.action for event in reader.read()] == ["two"]
    late.at = now - timedelta(milliseconds=500)
    late.save()
    assert [event.action for event in reader.read()] == ["late"]
    assert reader.read() == []


def test_many_events_at_once_come_in_parts_and_none_is_lost(alice: User) -> None:
    now = timezone.now() - timedelta(minutes=5)
    Event.objects.bulk_create(
        Event(owner_id=alice.pk, project_id=uuid4(), at=now, actor="x", source="x", action=str(n), outcome="ok")
        for n in range(450)
    )
    reader = NewEvents(alice.pk, since=now)
    parts = [reader.read() for _ in range(4)]
    assert [len(part) for part in parts] == [200, 200, 50, 0]
    assert len({event.pk for part in parts for event in part}) == 450


def test_catching_up_keeps_the_sent_ids_of_one_part_only(alice: User) -> None:
    begin = timezone.now() - timedelta(minutes=5)
    Event.objects.bulk_create(
        Event(owner_id=alice.pk, project_id=uuid4(), at=begin + timedelta(milliseconds=n // 2), action=str(n))
        for n in range(901)
    )
    reader, told, kept = NewEvents(alice.pk, since=begin), list[str](), list[int]()
    for _ in range(6):
        told += [event.action for event in reader.read()]
        kept.append(len(reader._sent))
    assert told == [str(n) for n in range(901)]
    assert max(kept) <= 2
