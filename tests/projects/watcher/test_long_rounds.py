"""Two watchers whose rounds take longer than a lease: one of them finishes its rounds, and the other waits."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accounts import clock
from projects.models import Watch
from projects.rules.status.lifecycle import LEASE
from projects.watcher import lease_renewal
from projects.watcher.heartbeat import Pulse
from projects.watcher.leader import SURE_FOR, Leadership, LeadershipLostError, become_leader
from projects.watcher.lease_renewal import EVERY, LeaseRenewal
from projects.watcher.reconcile.full import reconcile
from projects.watcher.watcher import LOOK_EVERY, Watcher
from tests.fakes.engine import MemoryEngine
from tests.waiting import wait_until
from tests.watchers import run_in_thread

pytestmark = pytest.mark.django_db(transaction=True)

TAKEN_OVER = LEASE.total_seconds() + LOOK_EVERY
"""Seconds after the end of the leader in which another one leads."""

LENGTHS = (1, 14, 16, 25, 34)
"""Seconds that a round takes; `serve` replaces a watcher that needs longer for a step."""


@dataclass
class Time:
    """The clock of all machines, in seconds."""

    passed: float = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.passed)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    monkeypatch.setattr(clock, "now", made.now)
    monkeypatch.setattr("projects.watcher.leader._tick", lambda: made.passed)
    return made


@dataclass
class Rounds:
    """A watcher as far as its lease is concerned."""

    name: str
    length: float
    lives: bool = True
    finished: list[float] = field(default_factory=list)
    _until: float | None = None
    _next: float = 0.0

    def __post_init__(self) -> None:
        self.leadership = Leadership(self.name)
        self.renewal = LeaseRenewal(self.leadership, Pulse())

    def step(self, now: float) -> None:
        if not self.lives:
            return
        if now % EVERY == 0:
            self.renewal.step()
        if self._until is None:
            if now >= self._next:
                self._begin(now)
        elif now >= self._until:
            self._end(now)

    def _begin(self, now: float) -> None:
        if self.leadership.take(become_leader):
            self._until = now + self.length
        else:
            self._next = now + LOOK_EVERY

    def _end(self, now: float) -> None:
        self._until, self._next = None, now + 1.0
        try:
            self.leadership.require()
        except LeadershipLostError:
            return
        self.finished.append(now)


@pytest.mark.rare(1)
@pytest.mark.parametrize("second", LENGTHS)
@pytest.mark.parametrize("first", LENGTHS)
def test_a_round_of_any_length_is_finished_and_another_watcher_takes_over_after_the_end_of_the_leader(
    first: int, second: int, time: Time
) -> None:
    one, two = Rounds("one", first), Rounds("two", second)
    dies_at = 80 + (7 * first + 11 * second) % 40  # anywhere in a round

    def run(until: float) -> None:
        while time.passed < until:
            for each in (one, two):
                each.step(time.passed)
            time.passed += 1.0

    run(dies_at)
    assert one.finished[0] == first
    assert max(later - before for before, later in zip([0.0, *one.finished], one.finished, strict=False)) <= first + 2
    assert two.finished == [], "The lead has moved although the leader was at work."
    one.lives = False
    run(dies_at + TAKEN_OVER + second + 2)
    assert two.finished


def test_a_watcher_that_hangs_keeps_the_lease_no_longer(time: Time) -> None:
    pulse = Pulse()
    hangs = Leadership("hangs")
    renewal = LeaseRenewal(hangs, pulse)
    assert hangs.take(become_leader)
    time.passed += SURE_FOR
    renewal.step()
    time.passed += LEASE.total_seconds() - 1
    assert not become_leader("next"), "It was renewed while nothing hung."
    pulse.expect(-1.0)
    renewal.step()
    time.passed += 1
    assert become_leader("next")
    pulse.expect(60.0)
    renewal.step()
    assert Watch.objects.get().holder == "next"
    with pytest.raises(LeadershipLostError):
        hangs.require()


@pytest.mark.parametrize("way", ["give back", "lost"])
def test_a_watcher_that_leads_no_longer_renews_nothing(way: str, time: Time) -> None:
    former = Leadership("former")
    assert former.take(become_leader)
    if way == "give back":
        former.give_back()
    else:
        time.passed += LEASE.total_seconds()
        assert become_leader("next")
        assert not former.take(become_leader)
    before = Watch.objects.values().get()
    time.passed += SURE_FOR
    LeaseRenewal(former).step()
    assert Watch.objects.values().get() == before


def test_the_lease_is_renewed_while_the_engine_takes_long_for_its_list(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease_renewal, "EVERY", 0.01)
    monkeypatch.setattr("projects.watcher.leader.SURE_FOR", 0.0)
    renewed: list[bool] = []

    def slow(*args: Any, **options: Any) -> Any:
        if not renewed:
            before = Watch.objects.get().lease_until
            wait_until(lambda: Watch.objects.get().lease_until != before)
            renewed.append(True)
        return reconcile(*args, **options)

    monkeypatch.setattr("projects.watcher.watcher.reconcile", slow)
    with run_in_thread(Watcher(name="slow")):
        wait_until(lambda: Watch.objects.exclude(heartbeat_at=None).exists())
    assert renewed
