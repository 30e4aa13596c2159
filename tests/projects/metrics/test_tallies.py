"""Everything is counted exactly once and permanently, also after its deletion."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError

from accounts import clock
from projects.models import Event, EventCursor, HourlyUsage, Project, Tally
from projects.models.event import SYSTEM
from projects.models.event_cursor import newest_event_id
from projects.models.figures.tally import ANSWERED, FAILED, MOST, SENT, Labels, Subject, count_on
from projects.services.staff.metrics import CURSOR, read_metrics
from projects.watcher.upkeep import tallies
from projects.watcher.upkeep.retention import prune
from projects.watcher.upkeep.tallies import tally_events
from tests.fakes.engine import MemoryEngine
from tests.fakes.gateway import MemoryGateway
from tests.projects.gateway.counting import read

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _all_is_counted(project: Project) -> None:
    """The state before the test. PostgreSQL never reuses a number, and a reader waits for missing ones."""
    EventCursor.objects.update_or_create(name=CURSOR, defaults={"last_event_id": newest_event_id()})


def happen(project: Project, *events: tuple[str, str]) -> None:
    for action, outcome in events:
        project.event(SYSTEM, action, outcome).save()


def seen(numbers: Mapping[Any, int]) -> dict[Any, int]:
    return {label: number for label, number in numbers.items() if number}


def crashes() -> dict[str, int]:
    return seen(read_metrics().crashes)


def test_an_event_is_counted_before_and_after_the_watcher_has(project: Project) -> None:
    before = seen(read_metrics().operations)
    happen(project, ("crash", "exited"), ("crash", "exited"), ("crash", "of nobody"), ("start", "failed"))
    for _ in range(3):
        found = read_metrics()
        assert seen(found.crashes) == {"exited": 2, "other": 1}
        assert seen(found.operations) == before | {Labels("start", "failed"): 1}
        tally_events()
    assert not Tally.objects.filter(subject=Subject.EVENTS, number=0).exists()


def test_events_deleted_by_retention_stay_counted(project: Project) -> None:
    happen(project, ("crash", "exited"))
    tally_events()
    Event.objects.update(at=clock.now() - timedelta(days=4000))
    assert sum(prune()) > 0
    assert not Event.objects.exists()
    happen(project, ("crash", "exited"))
    assert crashes() == {"exited": 2}


def test_retention_waits_for_uncounted_events(project: Project) -> None:
    tally_events()
    happen(project, ("crash", "exited"))
    last = Event.objects.latest("pk").pk
    assert EventCursor.objects.get(name=CURSOR).last_event_id < last


def test_one_of_two_watchers_counts_an_event(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    happen(project, ("crash", "exited"))
    unread = EventCursor.unread

    def be_overtaken(cursor: EventCursor, *, limit: int) -> list[Event]:
        events = unread(cursor, limit=limit)
        monkeypatch.setattr(EventCursor, "unread", unread)
        tally_events()
        return events

    monkeypatch.setattr(EventCursor, "unread", be_overtaken)
    tally_events()
    assert crashes() == {"exited": 1}


def test_a_failing_count_leaves_the_cursor_unchanged(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    happen(project, ("crash", "exited"))

    def refuse(*_: object) -> None:
        raise OperationalError("full")

    with monkeypatch.context() as broken:
        broken.setattr(tallies, "count_on", refuse)
        with pytest.raises(OperationalError):
            tally_events()
    assert crashes() == {"exited": 1}
    tally_events()
    assert crashes() == {"exited": 1}


def test_an_installation_that_counts_from_now_on_does_not_count_the_past(project: Project) -> None:
    happen(project, ("crash", "exited"))
    EventCursor.objects.update_or_create(name=CURSOR, defaults={"last_event_id": Event.objects.latest("pk").pk})
    happen(project, ("crash", "killed"))
    assert crashes() == {"killed": 1}


def test_a_failed_deploy_counts_as_one_failure_and_a_warning_as_none(project: Project) -> None:
    before = read_metrics().operations[Labels("deploy", "done")]
    happen(project, ("deploy", "image_missing"), ("deploy", "engine_refused"), ("deploy", "warning"), ("budget", "x"))
    found = read_metrics().operations
    assert found[Labels("deploy", "failed")] == 2
    assert found[Labels("deploy", "done")] == before
    assert {labels.second for labels in found} <= {"done", "failed", "recorded", "nothing to do"}


def test_tokens_are_counted_by_provider_once(engine: MemoryEngine, project: Project, gateway: MemoryGateway) -> None:
    gateway.use(str(project.pk), model="gpt", requests=3, errors=1, input=10, output=5)
    gateway.use(str(project.pk), messages=4)
    for _ in range(2):
        read(engine)
    gateway.use(str(project.pk), model="gpt", requests=1, input=1)
    read(engine)
    provider = Project.objects.get().provider
    found = read_metrics()
    assert seen(found.tokens) == {Labels(provider, "input"): 11, Labels(provider, "output"): 5}
    expected = {ANSWERED: 3, FAILED: 1, SENT: 4}
    assert found.gateway == expected
    HourlyUsage.objects.all().delete()
    assert read_metrics().gateway == expected


def test_an_unknown_provider_gets_no_label(engine: MemoryEngine, project: Project, gateway: MemoryGateway) -> None:
    Project.objects.update(provider="of-somebody")
    gateway.use(str(project.pk), model="gpt", requests=1, input=10)
    read(engine)
    assert seen(read_metrics().tokens) == {Labels("other", "input"): 10}


def test_a_counter_stops_at_the_largest_representable_number() -> None:
    for _ in range(2):
        count_on(Subject.TOKENS, {Labels("openai", "input"): MOST - 1, Labels("openai", "output"): 0})
    assert [(row.second, row.number) for row in Tally.objects.all()] == [("input", MOST)]
