"""Whatever breaks at one project, a round goes on for all others, and the failure is counted and told."""

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import DataError, IntegrityError
from django.utils import timezone

from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError
from containers.vocabulary import ContainerState
from projects.credentials.encryption import SecretUnreadableError
from projects.models import Project, Watch
from projects.models.reconciliation import FIRST_PAUSE, LONGEST_PAUSE, pause_after
from projects.services import start_and_stop
from projects.watcher import observation, reconcile_project, repair
from projects.watcher.reconcile import reconcile
from projects.watcher.round import Round
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.rows import later, status_of

ERRORS: list[Any] = [
    RuntimeError("a bug"),
    TypeError("'int' object is not iterable"),
    RecursionError("too deep"),
    MemoryError(),
    OSError(28, "No space left on device"),
    UnicodeEncodeError("idna", "x", 0, 1, "label too long"),
    DataError("value out of range"),
    IntegrityError("UNIQUE constraint failed"),
    SecretUnreadableError("The api_key cannot be decrypted."),
    EngineError("The engine did something else."),
    EngineRefusedError("The disk is full."),
    EngineUnavailableError("The engine did not answer in time."),
]
STEPS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "take over an expired operation": (Project, "release_expired", {"operation": "start"}),
    "look whether the row differs": (reconcile_project, "differs", {}),
    "record what was seen": (reconcile_project, "record_observation", {}),
    "apply what was seen": (Project, "apply_observation", {}),
    "count crashes": (observation, "_count_crashes_between", {}),
    "read the end of the log": (observation, "read_log_tail", {}),
    "gather the facts": (Project, "facts", {}),
    "carry out the remedy": (reconcile_project, "carry_out", {}),
    "claim": (Project, "claim", {}),
    "bring up": (repair, "bring_up", {}),
    "build the specification": (start_and_stop, "build_spec", {}),
    "take down": (repair, "take_down", {"desired": "stopped"}),
    "remove": (repair, "remove_container", {"desired": "deleted"}),
    "finish the deletion": (repair, "finish_deletion", {"desired": "deleted"}),
    "record the outcome": (repair, "record_outcome", {}),
}
"""The steps of a round at one project: where they stand, and the row that they are about."""


@pytest.fixture
def victim(deploy: Callable[..., Project]) -> Project:
    return deploy(name="Victim")


@pytest.fixture
def others(deploy: Callable[..., Project], victim: Project) -> list[Project]:
    """One that a round comes to before the victim, and one after."""
    projects = [deploy(telegramToken=f"{number}:another") for number in (7, 8)]
    later(projects[0], created_at=victim.created_at - timedelta(days=1))
    return projects


def break_at(
    monkeypatch: pytest.MonkeyPatch, project: Project, place: Any, name: str, error: Exception | type[Exception]
) -> list[str]:
    """Lets the step raise the error for this project. Returns a list that gets an entry for each time."""
    real, broken = getattr(place, name), []

    def step(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(value, Project) and value.pk == project.pk for value in args):
            broken.append(name)
            raise error
        return real(*args, **kwargs)

    monkeypatch.setattr(place, name, step)
    return broken


def prepare(project: Project, engine: MemoryEngine, row: dict[str, Any]) -> None:
    """The agent has ended; `row` is what is wanted of it, or the operation that was not finished."""
    if "desired" not in row:
        engine.exit(project.container_name, exit_code=1)
    if "operation" in row:
        past = timezone.now() - timedelta(seconds=1)
        row = row | {"operation_id": project.pk, "operation_deadline": past}
    later(project, **row)


def end(projects: list[Project], engine: MemoryEngine) -> None:
    for project in projects:
        engine.exit(project.container_name, exit_code=1)


def assert_cared_for(projects: list[Project], engine: MemoryEngine) -> None:
    assert [engine.containers[project.container_name].state for project in projects] == ["running"] * len(projects)
    assert {status_of(project) for project in projects} == {"running"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("step", STEPS)
def test_no_error_at_one_project_ends_the_round(
    victim: Project, others: list[Project], engine: MemoryEngine, step: str
) -> None:
    place, name, row = STEPS[step]
    good = Project.objects.filter(pk=victim.pk).values().get()
    container = engine.containers[victim.container_name]
    for error in ERRORS:
        prepare(victim, engine, row)
        end(others, engine)
        with pytest.MonkeyPatch.context() as patch:
            assert_broken_once(break_at(patch, victim, place, name, error), reconcile(), error)
        assert_cared_for(others, engine)
        now = Project.objects.get(pk=victim.pk)
        assert (now.reconcile_failures, now.reconcile_error) == (1, type(error).__name__), error
        later(victim, **{column: value for column, value in good.items() if column != "id"})
        later(others[0], crash_count=0)
        later(others[1], crash_count=0)
        engine.containers[victim.container_name] = container
        container.state, container.exit_code, container.finished_at = ContainerState.RUNNING, None, None


def assert_broken_once(broken: list[str], result: Round, error: Exception) -> None:
    assert len(broken) == 1, error
    assert len(result.failed) == 1, error
    assert len(result.repaired) == 2, error


def test_the_engine_may_fail_at_one_project_when_it_is_inspected(
    victim: Project, others: list[Project], engine: MemoryEngine
) -> None:
    for error in (EngineRefusedError, EngineUnavailableError):
        end(others, engine)
        later(victim, reconcile_failures=0, reconcile_again_at=None)
        engine.fail("inspect", error)
        result = reconcile(changed_keys=[victim.container_key])
        assert len(result.failed) == 1
        assert_cared_for(others, engine)
        later(others[0], crash_count=0)
        later(others[1], crash_count=0)


def test_a_project_that_fails_is_skipped_for_longer_and_longer(
    victim: Project, others: list[Project], engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.exit(victim.container_name, exit_code=1)
    with monkeypatch.context() as patch:
        broken = break_at(patch, victim, reconcile_project, "carry_out", RuntimeError("a bug"))
        for failures in range(1, 13):
            before = timezone.now()
            reconcile()
            assert reconcile().skipped == 1
            assert len(broken) == failures
            now = Project.objects.get(pk=victim.pk)
            assert now.reconcile_failures == failures
            assert now.reconcile_again_at is not None
            assert pause_after(failures) <= now.reconcile_again_at - before <= pause_after(failures) + FIRST_PAUSE
            later(victim, reconcile_again_at=timezone.now())
    assert reconcile().repaired == [f"bring back: {victim.container_name}"]
    now = Project.objects.get(pk=victim.pk)
    assert (now.reconcile_failures, now.reconcile_failed_at, now.reconcile_again_at, now.reconcile_error) == (
        (0, None, None, "")
    )


def test_the_pause_grows_and_has_an_end() -> None:
    pauses = [pause_after(failures) for failures in range(1, 100)]
    assert pauses[:3] == [timedelta(seconds=4), timedelta(seconds=8), timedelta(seconds=16)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == pause_after(10**9) == LONGEST_PAUSE


def test_a_container_that_cannot_be_stopped_makes_no_event_in_each_round(
    victim: Project, others: list[Project], engine: MemoryEngine
) -> None:
    later(victim, desired="stopped")
    engine.fail("stop", EngineRefusedError("It does not stop."), times=100)
    for _ in range(20):
        reconcile()
    assert engine.calls.count(("stop", victim.container_key)) == 1


@pytest.mark.parametrize("action", ["start", "stop", "restart"])
def test_a_command_of_the_owner_ends_the_pause(
    victim: Project, others: list[Project], engine: MemoryEngine, api: Any, action: str
) -> None:
    later(victim, reconcile_failures=9, reconcile_again_at=timezone.now() + LONGEST_PAUSE, observed_at=None)
    engine.exit(victim.container_name, exit_code=1)
    assert api.post(f"/api/projects/{victim.pk}/control", {"action": action}).status_code == 200
    assert Project.objects.get(pk=victim.pk).reconcile_failures == 0


def test_a_failing_row_is_not_taken_for_fresh(
    victim: Project, others: list[Project], engine: MemoryEngine, api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The heartbeat says nothing about the row at which rounds fail, so a read asks the engine."""
    old = timezone.now() - timedelta(minutes=1)
    later(victim, observed_at=old, updated_at=old)
    engine.crash(victim.container_name, exit_code=20)
    with monkeypatch.context() as patch:
        break_at(patch, victim, reconcile_project, "record_observation", RuntimeError("a bug"))
        result = reconcile()
    Watch.objects.create(instance="berth", heartbeat_at=result.at)
    assert api.get(f"/api/projects/{victim.pk}").json()["status"] == "crashed"


def test_staff_are_told_in_the_log_and_in_the_admin_and_nothing_of_the_message(
    victim: Project,
    others: list[Project],
    engine: MemoryEngine,
    sam: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine.exit(victim.container_name, exit_code=1)
    with monkeypatch.context() as patch:
        break_at(patch, victim, reconcile_project, "carry_out", RuntimeError("what it says"))
        with caplog.at_level(logging.WARNING):
            reconcile()
    assert f"Could not look at {victim.container_name} (1 times in a row)." in caplog.text
    assert "Traceback" in caplog.text
    admin = browser_of(sam)
    page = admin.get(f"/admin/projects/project/{victim.pk}/change/").content.decode()
    assert "Failed 1 times in a row, at last with RuntimeError at " in page
    assert "what it says" not in page
    address = "/admin/projects/project/?reconcile_failed_at__isempty="
    listed = {kind: admin.get(f"{address}{empty}").content.decode() for kind, empty in (("fails", 0), ("well", 1))}
    assert str(victim.pk) in listed["fails"]
    assert str(victim.pk) not in listed["well"]
    assert all(str(other.pk) in listed["well"] and str(other.pk) not in listed["fails"] for other in others)


def test_where_the_engine_answers_nobody_the_round_ends_and_no_project_is_blamed(
    victim: Project, others: list[Project], engine: MemoryEngine
) -> None:
    end(others, engine)
    engine.exit(victim.container_name)
    engine.slow("deploy", lambda: setattr(engine, "unavailable", True))
    with pytest.raises(EngineUnavailableError):
        reconcile()
    assert not Project.objects.filter(reconcile_failures__gt=0).exists()
