"""The engine's clock is set back, or an event is dated in the future: later events vouch for rows again, and not too
early."""

import time

import pytest
from django.utils import timezone

from containers.errors import EngineUnavailableError
from projects.models import Project
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.reconcile.event_freshness import LONGEST, EventFreshness
from projects.watcher.reconcile.least_delay import RENEWED_EVERY
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.hearing import AGO, beaten_ago, tell

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

BACK = [5.0, 30.0, LONGEST + 5.0, 600.0, 86400.0, 366 * 86400.0]
"""Seconds by which the first event is later than the engine's clock then says."""


class Time:
    """Monotonic time, which passes only as the test says. The engine's clock is right again after its first event."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.start, self.passed = time.monotonic(), 0.0
        monkeypatch.setattr("time.monotonic", self.now)

    def now(self) -> float:
        return self.start + self.passed


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Time:
    return Time(monkeypatch)


def tell_until(
    end: float, passing: Time, made: EventFreshness, ends: RunEnds, *, round_ago: float, late: float
) -> None:
    while passing.passed < end:
        made.note_round(passing.now() - round_ago)
        tell(made, ends, None, "kill", ago=late - passing.passed)
        passing.passed += 5.0


@pytest.mark.parametrize("back", BACK)
def test_events_vouch_again_soon(
    back: float, passing: Time, vouching: EventFreshness, victim: Project, ends: RunEnds, engine: MemoryEngine
) -> None:
    engine.fail("find_newest_event", EngineUnavailableError, times=100)  # asked up to a moment in its future, it waits
    tell(vouching, ends, None, "kill", ago=-back)
    tell_until(RENEWED_EVERY + 10.0, passing, vouching, ends, round_ago=0.0, late=0.0)
    vouching.note_round(passing.now() - AGO)
    begun = timezone.now()
    tell(vouching, ends, victim, ago=-passing.passed)
    vouching.step()
    assert beaten_ago(begun) < 1.0
    assert Project.objects.get(pk=victim.pk).container_state == "restarting"


LATE = 3.0


def test_late_events_of_a_busy_engine_do_not_pass_for_prompt_ones(
    passing: Time, vouching: EventFreshness, victim: Project, ends: RunEnds, engine: MemoryEngine
) -> None:
    begun = timezone.now()
    engine.fail("find_newest_event", EngineUnavailableError)
    tell(vouching, ends, None, "kill")
    passing.passed += 5.0
    tell_until(10 * RENEWED_EVERY, passing, vouching, ends, round_ago=AGO, late=LATE)
    tell(vouching, ends, victim, ago=LATE - passing.passed)
    vouching.step()
    stalled = (timezone.now() - begun).total_seconds()  # the engine's time passes meanwhile, the monotonic one does not
    assert beaten_ago() >= LATE - stalled
