"""An agent reports something, and the engine does not answer for it in time: it is asked again, beside the rounds."""

from collections.abc import Callable

import pytest

from containers.errors import ContainerSilentError, EngineError, EngineUnavailableError
from projects.models import Project
from projects.watcher.reconcile import report_inspections
from projects.watcher.reconcile.report_inspections import ReportInspections
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.rows import status_of
from tests.projects.watcher.test_report_inspections import report

pytestmark = pytest.mark.one_database


@pytest.mark.django_db
@pytest.mark.parametrize("error", [EngineUnavailableError, ContainerSilentError])
def test_an_unanswered_inspection_is_repeated_without_a_round(
    error: type[EngineError], looks: ReportInspections, victim: Project, engine: MemoryEngine, left: list[str]
) -> None:
    engine.fail("inspect", error, times=2)
    report(looks, engine, victim)
    looks.step()
    assert (status_of(victim), left) == ("running", [victim.container_key])  # which waits for the engine's list
    looks.step()
    assert (status_of(victim), left) == ("degraded", [victim.container_key])
    engine.calls.clear()
    looks.step()
    assert engine.calls == []


@pytest.mark.django_db
def test_inspections_without_an_answer_or_after_an_end_are_not_repeated_forever(
    looks: ReportInspections,
    victim: Project,
    engine: MemoryEngine,
    listen: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(report_inspections, "MOST_TRIES", 2)
    engine.fail("inspect", ContainerSilentError, times=9)
    report(looks, engine, victim)
    for _ in range(3):
        looks.step()
    assert len([verb for verb, _ in engine.calls if verb == "inspect"]) == 2
    report(looks, engine, victim)
    engine.crash(victim.container_name)
    listen()
    engine.calls.clear()
    looks.step()
    assert engine.calls == []
