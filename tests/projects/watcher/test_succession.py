"""A watcher that sees the engine takes the lead from one that does not, and from no other."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from containers.errors import EngineUnavailableError
from projects.models import Watch
from projects.rules.status.lifecycle import LEASE
from projects.watcher.leader import LeadershipLostError, is_leader
from projects.watcher.succession import ASK_EVERY, BLIND_FOR
from projects.watcher.watcher import Watcher
from tests.fakes.engine import MemoryEngine

pytestmark = pytest.mark.django_db(transaction=True)

Pass = Callable[[float], None]


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Pass:
    """Lets seconds pass for the second watcher."""

    class Clock:
        now = 1000.0

        def monotonic(self) -> float:
            return self.now

    clock = Clock()
    monkeypatch.setattr("projects.watcher.succession.time", clock)

    def let_pass(seconds: float) -> None:
        clock.now += seconds

    return let_pass


@pytest.fixture
def second(engine: MemoryEngine, passing: Pass) -> Watcher:
    """Another watcher has led so far, and renews its lease without a heartbeat."""
    first = Watcher(name="first")
    first._look()
    watcher = Watcher(name="second")
    watcher._look()
    assert is_leader("first")
    return watcher


def look(watcher: Watcher) -> bool:
    """Returns whether this watcher leads after a look."""
    Watch.objects.filter(holder="first").update(lease_until=timezone.now() + LEASE)
    watcher._look()
    return is_leader(watcher.name)


def test_a_watcher_that_sees_takes_the_lead_from_a_blind_one(second: Watcher, passing: Pass) -> None:
    before = Watch.objects.get().heartbeat_at
    passing(BLIND_FOR - 1)
    assert not look(second)
    passing(1)
    assert look(second)
    assert Watch.objects.get().heartbeat_at != before, "It has also finished a round."


def test_the_blind_one_notices_and_does_not_take_it_back(second: Watcher, passing: Pass) -> None:
    first = Watcher(name="first")
    first._look()
    passing(0)
    assert not look(second)
    passing(BLIND_FOR)
    assert look(second)
    first._leadership._sure_until = 0.0
    with pytest.raises(LeadershipLostError):
        first._leadership.require()
    assert not look(first)


def test_a_leader_with_a_heartbeat_keeps_the_lead(second: Watcher, passing: Pass) -> None:
    for minute in range(1, 10):
        passing(BLIND_FOR - 1)
        Watch.objects.update(heartbeat_at=timezone.now() + timedelta(minutes=minute))
        assert not look(second)


def test_another_leader_gets_its_time(second: Watcher, passing: Pass) -> None:
    """The heartbeat is still that of the one before."""
    passing(BLIND_FOR)
    Watch.objects.update(holder="third", lease_until=timezone.now() + LEASE)
    assert not look(second)
    passing(BLIND_FOR - 1)
    assert not look(second)
    passing(ASK_EVERY)
    assert look(second)


def test_a_leader_that_is_replaced_on_its_machine_gets_no_more_time(second: Watcher, passing: Pass) -> None:
    """A watcher that hangs in calls of the engine is replaced again and again."""
    for number in range(3):
        Watch.objects.update(holder=f"machine/7 {number}:1", lease_until=timezone.now() + LEASE)
        assert not look(second)
        passing(BLIND_FOR / 3)
    assert look(second)


def test_a_watcher_that_sees_no_more_leaves_the_lead_where_it_is(
    second: Watcher, passing: Pass, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[None] = []

    def fail(*_: object, **__: object) -> None:
        asked.append(None)
        raise EngineUnavailableError

    with monkeypatch.context() as patch:
        patch.setattr(MemoryEngine, "observe", fail)
        passing(BLIND_FOR)
        for _ in range(5):
            assert not look(second)
            passing(ASK_EVERY / 5)
        assert len(asked) == 1
        assert not look(second)
        assert len(asked) == 2
    passing(ASK_EVERY)
    assert look(second)


def test_a_leader_may_need_three_times_as_long_as_our_own_list(
    second: Watcher, passing: Pass, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise two watchers with long rounds would take the lead from each other, and none would finish a round."""
    observe = MemoryEngine.observe

    def observe_slowly(*args: object, **options: object) -> object:
        passing(30)
        return observe(*args, **options)  # type: ignore[arg-type]  # handed on as they come

    monkeypatch.setattr(MemoryEngine, "observe", observe_slowly)
    passing(BLIND_FOR)
    assert not look(second)
    passing(30)
    assert look(second), "150 s after the heartbeat"


def test_a_heartbeat_during_the_list_counts(
    second: Watcher, passing: Pass, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hear(*_: object, **__: object) -> list[object]:
        Watch.objects.update(heartbeat_at=timezone.now() + timedelta(seconds=9))
        return []

    with monkeypatch.context() as patch:
        patch.setattr(MemoryEngine, "observe", hear)
        passing(BLIND_FOR)
        assert not look(second)


def test_without_any_leader_there_is_nothing_to_take(engine: MemoryEngine, passing: Pass) -> None:
    passing(BLIND_FOR)
    Watcher(name="only")._look()
    assert is_leader("only")
