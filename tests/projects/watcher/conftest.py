"""A project at which something fails, other projects, and the known ends of runs."""

import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from projects.models import Project, Watch
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.leader import become_leader
from projects.watcher.reconcile import inspection_choice
from projects.watcher.reconcile.event_freshness import EventFreshness
from projects.watcher.reconcile.report_inspections import ReportInspections
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.hearing import AGO
from tests.projects.watcher.looking import grow_old
from tests.projects.watcher.rows import later


@pytest.fixture(autouse=True)
def _time_to_describe(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a round describes fewer crashes. Tests of that take the time away themselves."""
    monkeypatch.setattr(inspection_choice, "CRASHES_WITHIN", 100.0)


@pytest.fixture
def victim(deploy: Callable[..., Project]) -> Project:
    return deploy(name="Victim")


@pytest.fixture
def others(deploy: Callable[..., Project], victim: Project) -> list[Project]:
    """A project before the victim in a round, and one after it."""
    projects = [deploy(telegramToken=f"{number}:another") for number in (7, 8)]
    later(projects[0], created_at=victim.created_at - timedelta(days=1))
    return projects


@pytest.fixture
def ends() -> RunEnds:
    return RunEnds()


@pytest.fixture
def listen(engine: MemoryEngine, ends: RunEnds) -> Callable[[], None]:
    """Receives everything that has happened on the engine by now."""
    read = [0]

    def hear() -> None:
        for found, _ in engine._events[read[0] :]:
            ends.note(found)
        read[0] = len(engine._events)

    return hear


@pytest.fixture
def vouching(victim: Project, others: list[Project], ends: RunEnds, engine: MemoryEngine) -> EventFreshness:
    """All are well, by a round some time ago; the next one waits for a list,
    and so does any other caller of the engine."""
    made = EventFreshness("one", ends)
    grow_old()
    become_leader("one")
    Watch.objects.update(heartbeat_at=timezone.now() - timedelta(seconds=AGO))
    made._whole_since = 0.0
    made.note_round(time.monotonic() - AGO)
    for each in (victim, *others):
        engine.silence_container(each.container_name)
    return made


@pytest.fixture
def left() -> list[str]:
    """The keys that are left to the rounds."""
    return []


@pytest.fixture
def looks(left: list[str], ends: RunEnds) -> ReportInspections:
    return ReportInspections(lambda: True, ends, lambda *keys: left.extend(keys))
