"""If the kernel gives no threads, or they have no memory, the watcher works one thing after the other."""

import _thread
import time
from collections.abc import Callable
from threading import Thread

import pytest

from accounts import clock
from containers.vocabulary import Observation
from projects.models import Project
from projects.services import deferred
from projects.services.deferred import defer
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.reconcile import background as repairs
from projects.watcher.reconcile import inspection
from projects.watcher.reconcile.background import Background
from projects.watcher.reconcile.full import reconcile
from projects.watcher.reconcile.inspection import inspecting
from projects.watcher.reconcile.report_inspections import ReportInspections
from projects.watcher.threads import ENDS_WITHIN, PeriodicTask
from projects.watcher.upkeep import samples
from projects.watcher.upkeep.samples import Samples
from tests.containers.processes.test_side_work import no_thread, one_that_dies
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.rows import status_of
from tests.waiting import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


@pytest.fixture(autouse=True, params=[no_thread, one_that_dies])
def none_begins(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    def wait_for_ever(_thread: Thread) -> None:
        pytest.fail("It waits for a thread to begin.")

    monkeypatch.setattr(_thread, "start_new_thread", request.param)
    monkeypatch.setattr(Thread, "start", wait_for_ever)


def test_samples_are_taken_and_a_silent_engine_is_not_asked_for_a_minute(
    victim: Project, others: list[Project], engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    Project.objects.update(started_at=clock.now())
    assert Samples(lambda: True).step() == 3
    monkeypatch.setattr(samples, "ONE_ANSWER", -1.0)
    engine.calls.clear()
    assert Samples(lambda: True).step() == 0
    assert engine.calls == []


def test_reports_are_recorded(victim: Project, others: list[Project], engine: MemoryEngine, ends: RunEnds) -> None:
    left: list[str] = []
    looks = ReportInspections(lambda: True, ends, lambda *keys: left.extend(keys))
    for each in (victim, others[0]):
        engine.report(each.container_name, "degraded", "provider_down")
        looks.look_at(each.container_key)
    looks.step()
    assert [status_of(each) for each in (victim, *others)] == ["degraded", "degraded", "running"]
    assert left == []


class Due(PeriodicTask):
    """A task that is always due."""

    def __init__(self) -> None:
        super().__init__()
        self.done = 0

    def step(self) -> None:
        self._begin(now=time.monotonic(), every=0.0)

    def _run(self) -> None:
        self.done += 1


def test_a_task_blocks_no_round_and_is_begun_when_there_are_threads_again(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Due()
    task.step()
    task.step()
    assert task.done == 0
    monkeypatch.undo()
    task.step()
    wait_until(lambda: task.done == 1)
    task.stop()


def test_the_end_waits_for_no_task_that_never_began() -> None:
    task = Due()
    task.step()
    began = time.monotonic()
    task.stop()
    assert time.monotonic() - began < ENDS_WITHIN / 2


def test_containers_are_inspected(
    victim: Project, others: list[Project], engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "BEGIN_WITHIN", 0.01)
    found: dict[str, Observation | None] = {}
    keys = [each.container_key for each in (victim, *others)]
    with inspecting(dict.fromkeys(keys, ""), until=time.monotonic(), instead=lambda _: None) as answers:
        found.update((key, answer()) for key, answer in answers)
    assert sorted(found) == sorted(keys)
    assert all(found.values())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("end", [MemoryEngine.vanish, MemoryEngine.exit])
@pytest.mark.parametrize("narrow", [True, False])
def test_ended_agents_come_back_once_there_are_threads_again(
    narrow: bool, end: Callable[[MemoryEngine, str], None], victim: Project, others: list[Project],
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(repairs, "BEGINS_WITHIN", 0.01)
    background = Background()

    def look() -> bool:
        reconcile(narrow=narrow, hand_over=background.hand_over, waiting=background.waiting())
        return all(each.is_up for each in engine.containers.values()) and len(engine.containers) == 3

    for each in (victim, *others):
        end(engine, each.container_name)
    assert not look()
    assert background.waiting() == set()
    monkeypatch.undo()
    monkeypatch.setattr(repairs, "AGAIN", 0.0)
    background._again_at = 0.0
    wait_until(look)
    background.stop()


def test_rounds_wait_for_one_thread_that_does_not_begin_and_not_for_one_after_another(
    victim: Project, others: list[Project], engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []
    monkeypatch.setattr(repairs, "AGAIN", 3600.0)
    monkeypatch.setattr(repairs, "begin_in_time", lambda *given: tried.append(given))
    for each in (victim, *others):
        engine.exit(each.container_name)
    background = Background()
    reconcile(hand_over=background.hand_over)
    assert len(tried) == 1
    background.stop()


def test_deferred_changes_are_made_once_there_are_threads_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr(deferred, "BEGINS_WITHIN", 0.01)
    monkeypatch.setattr(deferred, "AGAIN", 0.0)
    defer(lambda: made.append(1))
    monkeypatch.undo()
    defer(lambda: made.append(2))
    wait_until(lambda: made == [1, 2])
