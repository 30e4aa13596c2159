"""An agent reports something, and the engine does not answer about it in time:
it is asked again, parallel to the rounds."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from containers.errors import ContainerSilentError, EngineError, EngineUnavailableError
from containers.vocabulary import Health, Observation
from projects.models import Project
from projects.watcher.reconcile import inspection, repeated_inspections, report_inspections
from projects.watcher.reconcile.report_inspections import ReportInspections
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.rows import status_of
from tests.projects.watcher.test_report_inspections import report
from tests.waiting import wait_until

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_inspections, "WITHIN", 0.0)


def step_until(looks: ReportInspections, condition: Callable[[], bool]) -> None:
    def is_met() -> bool:
        looks.step()
        return condition()

    wait_until(is_met)


def inspections(engine: MemoryEngine) -> int:
    return len([verb for verb, _ in list(engine.calls) if verb == "inspect"])


@pytest.mark.parametrize("error", [EngineUnavailableError, ContainerSilentError])
def test_an_unanswered_inspection_is_repeated_without_a_round(
    error: type[EngineError], looks: ReportInspections, victim: Project, engine: MemoryEngine, left: list[str]
) -> None:
    engine.fail("inspect", error, times=2)
    report(looks, engine, victim)
    assert (status_of(victim), left) == ("running", [victim.container_key])  # which waits for the engine's list
    step_until(looks, lambda: status_of(victim) == "degraded")
    assert (inspections(engine), left, len(looks._repeats)) == (3, [victim.container_key], 0)


def test_an_inspection_whose_log_was_too_slow_is_repeated_too(
    looks: ReportInspections, victim: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent has printed a report, which is not in the answer."""
    real, slow = inspection.inspect, [True, True]

    def inspect(key: str, *, of: str = "", within: float) -> Observation | None:
        seen = real(key, of=of, within=60)
        return replace(seen, has_slow_log=slow.pop(), report=None, health=Health.HEALTHY) if seen and slow else seen

    monkeypatch.setattr(report_inspections, "inspect", inspect)
    monkeypatch.setattr(repeated_inspections, "inspect", inspect)
    report(looks, engine, victim)
    assert status_of(victim) == "running"
    step_until(looks, lambda: status_of(victim) == "degraded")
    assert (inspections(engine), len(looks._repeats)) == (3, 0)


def test_inspections_without_an_answer_or_after_an_end_are_not_repeated_forever(
    looks: ReportInspections,
    victim: Project,
    engine: MemoryEngine,
    listen: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(repeated_inspections, "MOST_TRIES", 3)
    engine.fail("inspect", ContainerSilentError, times=99)
    report(looks, engine, victim)
    step_until(looks, lambda: not looks._repeats)
    assert inspections(engine) == 3
    report(looks, engine, victim)
    engine.crash(victim.container_name)
    listen()
    looks.step()
    assert len(looks._repeats) == 0


def test_a_watcher_that_does_not_lead_repeats_nothing(
    looks: ReportInspections, victim: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.fail("inspect", EngineUnavailableError, times=99)
    report(looks, engine, victim)
    assert looks._repeats
    monkeypatch.setattr(looks, "_leads", lambda: False)
    looks.step()
    assert not looks._repeats


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch, victim: Project) -> Iterator[threading.Event]:
    """The engine does not answer about the victim until this is set, and its first answer is lost."""
    freed, real = threading.Event(), inspection.inspect

    def inspect(key: str, *, within: float) -> Observation | None:
        if key == victim.container_key:
            freed.wait(60)
        return real(key, within=60)

    monkeypatch.setattr(repeated_inspections, "inspect", inspect)
    yield freed
    freed.set()


def test_no_report_waits_for_an_engine_that_is_asked_again_about_another_agent(
    looks: ReportInspections, victim: Project, others: list[Project], engine: MemoryEngine, held: threading.Event
) -> None:
    """Otherwise, during a wave of crashes, each report would wait for two attempts at other agents."""
    engine.fail("inspect", ContainerSilentError, times=1)
    report(looks, engine, victim)
    began = time.monotonic()
    report(looks, engine, others[0])
    assert (status_of(others[0]), status_of(victim)) == ("degraded", "running")
    assert time.monotonic() - began < 30
    held.set()
    step_until(looks, lambda: status_of(victim) == "degraded")


def test_agents_that_end_while_others_are_inspected_are_not_asked_about(
    looks: ReportInspections,
    victim: Project,
    others: list[Project],
    engine: MemoryEngine,
    listen: Callable[[], None],
    left: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a wave, the engine is silent about each of them, and a report of another agent would wait for all."""
    monkeypatch.setattr(report_inspections, "AT_ONCE", 1)
    first, *rest = sorted((victim, *others), key=lambda each: each.container_key)

    def crash_others(key: str, *, unanswered: set[str], **_running: object) -> None:
        for each in rest:
            engine.crash(each.container_name)
        listen()
        unanswered.add(key)

    monkeypatch.setattr(report_inspections, "_look", crash_others)
    report(looks, engine, first, *rest)
    assert len(looks._repeats) == 1
    assert set(left) == {each.container_key for each in (first, *rest)}
