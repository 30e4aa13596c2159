"""POST /api/projects/{id}/control."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from containers.errors import EngineRefusedError, EngineUnavailableError
from projects.models import Event, Project
from tests.fakes.engine import MemoryEngine

Control = Callable[..., Any]


@pytest.fixture
def control(api: APIClient, project: Project) -> Control:
    def send(action: str, query: str = "") -> Any:
        return api.post(f"/api/projects/{project.id}/control{query}", {"action": action})

    return send


@pytest.fixture
def stopped(project: Project, control: Control) -> Project:
    assert control("stop").json()["status"] == "stopped"
    project.refresh_from_db()
    return project


def in_flight(project: Project, operation: str, *, seconds: float = 60) -> None:
    """As if another request were carrying it out."""
    deadline = timezone.now() + timedelta(seconds=seconds)
    Project.objects.filter(pk=project.pk).update(
        operation=operation, operation_id="11111111-1111-4111-8111-111111111111", operation_deadline=deadline
    )


def test_stop_ends_the_container(control: Control, project: Project, engine: MemoryEngine) -> None:
    answer = control("stop")
    assert (answer.status_code, answer.json()["status"]) == (200, "stopped")
    assert answer.json()["status_reason"] is None
    assert engine.containers[project.container_name].state == "exited"


def test_start_makes_a_stopped_agent_run_again(control: Control, stopped: Project, engine: MemoryEngine) -> None:
    answer = control("start")
    assert (answer.status_code, answer.json()["status"]) == (200, "running")
    assert engine.containers[stopped.container_name].state == "running"


def test_restart_makes_a_new_container(control: Control, project: Project, engine: MemoryEngine) -> None:
    before = engine.containers[project.container_name].container_id
    assert control("restart").json()["status"] == "running"
    assert engine.containers[project.container_name].container_id != before
    assert len(engine.containers) == 1


def test_start_of_what_runs_does_nothing(control: Control, project: Project, engine: MemoryEngine) -> None:
    before = engine.containers[project.container_name].container_id
    answer = control("start")
    assert (answer.status_code, answer.json()["status"]) == (200, "running")
    assert engine.containers[project.container_name].container_id == before


def test_a_second_stop_is_fine(control: Control, stopped: Project) -> None:
    answer = control("stop")
    assert (answer.status_code, answer.json()["status"]) == (200, "stopped")


@pytest.mark.parametrize("action", ["start", "restart"])
def test_a_crashed_agent_is_brought_up_and_its_crashes_forgotten(
    action: str, control: Control, project: Project, engine: MemoryEngine
) -> None:
    Project.objects.update(crash_count=5, gave_up_at=timezone.now())
    engine.crash(project.container_name, exit_code=1)
    answer = control(action)
    assert (answer.status_code, answer.json()["status"]) == (200, "running")
    project.refresh_from_db()
    assert (project.crash_count, project.gave_up_at) == (0, None)


def test_a_crashed_agent_can_be_stopped(control: Control, project: Project, engine: MemoryEngine) -> None:
    engine.crash(project.container_name, exit_code=1)
    answer = control("stop")
    assert (answer.status_code, answer.json()["status"]) == (200, "stopped")


def test_an_agent_between_crashes_is_started_now(control: Control, project: Project, engine: MemoryEngine) -> None:
    engine.crash(project.container_name, exit_code=1, restarting=True)
    assert control("start").json()["status"] == "running"


@pytest.mark.parametrize("operation", ["deploy", "start", "restart", "stop"])
@pytest.mark.parametrize("action", ["start", "restart"])
def test_one_operation_at_a_time(action: str, operation: str, control: Control, project: Project) -> None:
    in_flight(project, operation)
    answer = control(action)
    assert (answer.status_code, answer.json()["code"]) == (409, "operation_in_progress")
    assert 1 <= int(answer["Retry-After"]) <= 5


@pytest.mark.parametrize("operation", ["deploy", "start", "restart"])
def test_stop_wins_over_what_is_under_way(
    operation: str, control: Control, project: Project, engine: MemoryEngine
) -> None:
    in_flight(project, operation)
    answer = control("stop")
    assert (answer.status_code, answer.json()["status"]) == (200, "stopped")
    assert project.container_name not in engine.containers  # what is gone cannot be started by the loser


@pytest.mark.parametrize("action", ["start", "stop", "restart"])
def test_an_expired_operation_is_taken_over(action: str, control: Control, project: Project) -> None:
    in_flight(project, "restart", seconds=-1)
    answer = control(action)
    assert (answer.status_code, answer.json()["status"]) == (200, "stopped" if action == "stop" else "running")


@pytest.mark.parametrize("action", ["start", "restart"])
def test_a_suspended_project_cannot_be_started(action: str, control: Control, project: Project) -> None:
    Project.objects.update(suspended_at=timezone.now())
    answer = control(action)
    assert (answer.status_code, answer.json()["code"]) == (409, "project_suspended")


def test_a_suspended_project_can_be_stopped(control: Control, project: Project) -> None:
    Project.objects.update(suspended_at=timezone.now())
    answer = control("stop")
    assert (answer.status_code, answer.json()["status"]) == (200, "suspended")


@pytest.mark.parametrize("action", ["start", "restart"])
def test_with_the_engine_down_nothing_is_recorded(
    action: str, control: Control, stopped: Project, engine: MemoryEngine
) -> None:
    engine.unavailable = True
    answer = control(action)
    assert (answer.status_code, answer.json()["code"]) == (503, "engine_unavailable")
    assert "Retry-After" in answer
    stopped.refresh_from_db()
    assert (stopped.desired, stopped.operation) == ("stopped", "")


def test_with_the_engine_down_a_stop_is_recorded(control: Control, project: Project, engine: MemoryEngine) -> None:
    engine.unavailable = True
    Project.objects.update(observed_at=timezone.now() - timedelta(minutes=1))
    answer = control("stop")
    assert (answer.status_code, answer.json()["status"]) == (202, "unknown")
    project.refresh_from_db()
    assert (project.desired, project.operation) == ("stopped", "")


def test_a_stop_is_202_however_lately_the_engine_was_seen(
    control: Control, project: Project, engine: MemoryEngine
) -> None:
    engine.unavailable = True
    answer = control("stop")
    assert (answer.status_code, answer.json()["status"]) == (202, "stopping")


@pytest.mark.parametrize("verb", ["deploy.create", "deploy.start"])
def test_an_engine_that_refuses_makes_it_failed_with_the_reason(
    verb: str, control: Control, api: APIClient, stopped: Project, engine: MemoryEngine
) -> None:
    engine.fail(verb, EngineRefusedError("The disk is full."))
    answer = control("start")
    assert (answer.status_code, answer.json()["code"]) == (502, "engine_error")
    detail = api.get(f"/api/projects/{stopped.id}").json()
    assert detail["status"] == "failed"
    assert detail["status_reason"]["code"] == "engine_refused"
    assert control("start").json()["status"] == "running"


def test_a_foreign_container_with_the_name_is_not_touched(
    control: Control, api: APIClient, stopped: Project, engine: MemoryEngine
) -> None:
    engine.vanish(stopped.container_name)
    foreign = engine.foreign(stopped.container_name)
    answer = control("start")
    assert (answer.status_code, answer.json()["code"]) == (502, "engine_error")
    assert engine.containers[stopped.container_name] is foreign
    assert api.get(f"/api/projects/{stopped.id}").json()["status_reason"]["code"] == "name_taken"


def test_an_engine_that_falls_silent_leaves_what_was_wanted_before(
    control: Control, stopped: Project, engine: MemoryEngine
) -> None:
    engine.fail("deploy.start", EngineUnavailableError)
    assert control("start").status_code == 503
    stopped.refresh_from_db()
    assert (stopped.desired, stopped.operation) == ("stopped", "")


def test_wait_answers_once_the_agent_is_ready(control: Control, stopped: Project, engine: MemoryEngine) -> None:
    engine.ready_after_deploy = False
    assert control("start").json()["status"] == "starting"
    control("stop")
    engine.slow("observe", lambda: engine.report(stopped.container_name, "running"))
    assert control("start", "?wait=10").json()["status"] == "running"


def test_every_command_is_in_the_events(control: Control, project: Project, engine: MemoryEngine) -> None:
    control("stop")
    engine.unavailable = True
    control("start")
    events = Event.objects.filter(project_id=project.id).values_list("action", "outcome")
    assert list(events) == [("start", "failed"), ("stop", "done"), ("deploy", "done")]


@pytest.mark.parametrize("action", ["start", "stop", "restart"])
def test_a_stranger_is_told_what_anybody_is_told_of_an_id_that_never_was(
    action: str, project: Project, bobs_api: APIClient, engine: MemoryEngine
) -> None:
    calls = len(engine.calls)
    answers = [
        bobs_api.post(f"/api/projects/{project_id}/control", {"action": action}, headers={"X-Request-ID": "same"})
        for project_id in (project.id, "00000000-0000-4000-8000-000000000000")
    ]
    assert answers[0].status_code == 404
    assert answers[0].content == answers[1].content
    assert len(engine.calls) == calls


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("step", ["deploy.create", "deploy.confirm", "deploy.start"])
def test_a_stop_during_a_slow_deploy_wins_and_leaves_no_container(
    step: str, api: APIClient, body: dict[str, Any], engine: MemoryEngine
) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        reached.set()
        go_on.wait(20)

    engine.slow(step, hold)
    answers: list[Any] = []

    def deploy() -> None:
        answers.append(api.post("/api/projects", body))
        connection.close()

    thread = threading.Thread(target=deploy)
    thread.start()
    assert reached.wait(20)
    project = Project.objects.get()
    assert project.status == "deploying"
    stopped = api.post(f"/api/projects/{project.id}/control", {"action": "stop"})
    assert (stopped.status_code, stopped.json()["status"]) == (200, "stopped")
    go_on.set()
    thread.join(20)
    assert not engine.containers
    assert (answers[0].status_code, answers[0].json()["status"]) == (201, "stopped")
    assert api.get("/api/projects").json()[0]["status"] == "stopped"
