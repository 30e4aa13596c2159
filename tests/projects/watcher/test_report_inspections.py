"""Reports that agents make while a round waits for the engine are recorded at once; rounds do all else."""

import threading
from collections.abc import Callable

import pytest
from django.db import DatabaseError
from rest_framework.test import APIClient

from containers.errors import ContainerSilentError, EngineError, EngineUnavailableError
from containers.vocabulary import Observation
from projects.models import Event, Project
from projects.models.event import SYSTEM
from projects.watcher import reports
from projects.watcher import watcher as loop
from projects.watcher.reconcile import report_inspections
from projects.watcher.reconcile.report_inspections import ReportInspections
from projects.watcher.reports import Reports
from projects.watcher.watcher import Watcher
from tests.fakes.engine import MemoryEngine
from tests.projects.hidden_changes import CHANGES
from tests.projects.watcher.rows import status_of
from tests.projects.watcher.test_reports import running
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database


def report(looks: ReportInspections, engine: MemoryEngine, *projects: Project) -> None:
    for each in projects:
        engine.report(each.container_name, "degraded", "provider_down")
        looks.look_at(each.container_key)
    looks.step()


@pytest.mark.django_db
def test_a_report_is_recorded_in_the_row(
    looks: ReportInspections, victim: Project, others: list[Project], engine: MemoryEngine, left: list[str]
) -> None:
    report(looks, engine, victim, others[0])
    assert [status_of(each) for each in (victim, *others)] == ["degraded", "degraded", "running"]
    assert left == []
    assert {key for verb, key in engine.calls if verb == "inspect"} == {victim.container_key, others[0].container_key}


@pytest.mark.django_db
@pytest.mark.parametrize("copies", [0, 1, 2])
def test_the_only_container_of_an_agent_is_inspected_by_its_id(
    looks: ReportInspections, victim: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, copies: int
) -> None:
    real, ids = engine.inspect, list[str]()

    def inspect(key: str, *, of: str = "") -> Observation | None:
        ids.append(of)
        return real(key, of=of)

    monkeypatch.setattr(engine, "inspect", inspect)
    looks.follow(dict.fromkeys([victim.container_id, "copy"][:copies], victim.container_key))
    report(looks, engine, victim)
    assert ids == [victim.container_id if copies == 1 else ""]
    assert status_of(victim) == "degraded"


@pytest.mark.django_db
def test_ended_containers_are_left_to_the_rounds(
    looks: ReportInspections,
    victim: Project,
    others: list[Project],
    engine: MemoryEngine,
    listen: Callable[[], None],
    left: list[str],
) -> None:
    engine.crash(others[0].container_name)
    listen()
    engine.calls.clear()
    report(looks, engine, victim, others[0])
    assert left == [others[0].container_key]
    assert [key for verb, key in engine.calls if verb == "inspect"] == [victim.container_key]
    assert status_of(victim) == "degraded"


@pytest.mark.django_db
@pytest.mark.parametrize("error", [EngineUnavailableError, ContainerSilentError])
def test_late_answers_of_the_engine_are_left_to_the_rounds(
    error: type[EngineError], looks: ReportInspections, victim: Project, engine: MemoryEngine, left: list[str]
) -> None:
    engine.fail("inspect", error)
    report(looks, engine, victim)
    assert left == [victim.container_key]
    assert (Project.objects.get().reconcile_failures, status_of(victim)) == (0, "running")


@pytest.mark.django_db
def test_failed_writes_are_left_to_the_rounds(
    looks: ReportInspections, victim: Project, engine: MemoryEngine, left: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise DatabaseError

    monkeypatch.setattr(report_inspections, "record_observation", fail)
    report(looks, engine, victim)
    assert left == [victim.container_key]


@pytest.mark.django_db
def test_nothing_is_lost_if_an_inspection_fails(
    looks: ReportInspections, victim: Project, engine: MemoryEngine, left: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(report_inspections, "record_observation", fail)
    with pytest.raises(RuntimeError):
        report(looks, engine, victim)
    assert left == [victim.container_key]


@pytest.mark.django_db
def test_reports_beyond_the_limit_of_a_step_are_left_to_the_rounds(
    looks: ReportInspections,
    victim: Project,
    others: list[Project],
    engine: MemoryEngine,
    left: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(report_inspections, "MOST", 1)
    report(looks, engine, victim, others[0])
    assert len(left) == 1
    assert sorted(map(status_of, (victim, others[0]))) == ["degraded", "running"]


@pytest.mark.django_db
def test_a_watcher_that_does_not_lead_writes_nothing(
    looks: ReportInspections, victim: Project, engine: MemoryEngine, left: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looks, "_leads", lambda: False)
    report(looks, engine, victim)
    assert (left, status_of(victim)) == ([victim.container_key], "running")


@pytest.mark.django_db
@pytest.mark.parametrize("change", CHANGES)
def test_projects_that_changed_otherwise_are_left_to_the_rounds(
    change: str, looks: ReportInspections, victim: Project, engine: MemoryEngine, left: list[str]
) -> None:
    """This includes agents that have ended without an event."""
    before = Project.objects.values().get()
    CHANGES[change](engine, victim.container_name)
    looks.look_at(victim.container_key)
    looks.step()
    goes_on = change in {"unhealthy", "starting"}
    assert (left == []) is goes_on
    assert (Project.objects.values().get() == before) is not goes_on
    assert not Event.objects.filter(actor=SYSTEM).exists()


@pytest.mark.django_db(transaction=True)
def test_a_round_that_waits_for_the_engine_delays_no_report(
    project: Project, engine: MemoryEngine, api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "EACH_EVERY", 0.0)
    monkeypatch.setattr(reports, "WAIT", 0.05)
    monkeypatch.setattr(report_inspections, "WAIT", 0.05)
    monkeypatch.setattr(loop, "LOOK_EVERY", 0.05)
    followed, held, freed = threading.Event(), threading.Event(), threading.Event()
    follow = Reports.follow

    def note(self: Reports, found: dict[str, str]) -> None:
        follow(self, found)
        followed.set()

    def hold() -> None:
        if followed.is_set():
            held.set()
            freed.wait(60)

    monkeypatch.setattr(Reports, "follow", note)
    engine.slow("observe", hold)

    def is_told() -> bool:
        engine.report(project.container_name, "degraded", "provider_down")
        return status_of(project) == "degraded"

    try:
        with running(Watcher()):
            wait_until(held.is_set, within=60)
            wait_until(is_told, within=60, every=0.1)
            freed.set()
    finally:
        freed.set()
