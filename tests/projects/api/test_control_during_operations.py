"""POST /api/projects/{id}/control while another operation is under way: only a stop is accepted."""

import threading
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from projects.models import Project
from tests.fakes.engine import MemoryEngine
from tests.projects.api.commands import Control, in_flight


@pytest.fixture(autouse=True)
def _nobody_is_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("projects.services.commands.control.PATIENCE", 0.1)


@pytest.mark.parametrize("operation", ["deploy", "start", "restart", "stop"])
@pytest.mark.parametrize("action", ["start", "restart"])
def test_one_operation_runs_at_a_time(action: str, operation: str, control: Control, project: Project) -> None:
    in_flight(project, operation)
    answer = control(action)
    assert (answer.status_code, answer.json()["code"]) == (409, "operation_in_progress")
    assert 1 <= int(answer["Retry-After"]) <= 5


@pytest.mark.parametrize("action", ["start", "restart"])
def test_a_start_waits_while_the_watcher_gives_the_agent_up(
    action: str, control: Control, project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.crash(project.container_name, exit_code=20)
    in_flight(project, "stop")

    def end_operation(_seconds: float) -> None:
        Project.objects.update(operation="", operation_id=None, operation_deadline=None)

    monkeypatch.setattr("projects.services.commands.control.time.sleep", end_operation)
    answer = control(action)
    assert (answer.status_code, answer.json()["status"]) == (200, "running")


@pytest.mark.parametrize("action", ["start", "restart"])
def test_a_start_waits_for_no_stop_that_somebody_asked_for(
    action: str, control: Control, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    Project.objects.update(desired="stopped")
    in_flight(project, "stop")
    monkeypatch.setattr("projects.services.commands.control.time.sleep", lambda _: pytest.fail("It waits."))
    assert control(action).status_code == 409


@pytest.mark.parametrize("operation", ["deploy", "start", "restart"])
def test_stop_wins_over_a_running_operation(
    operation: str, control: Control, project: Project, engine: MemoryEngine
) -> None:
    in_flight(project, operation)
    answer = control("stop")
    assert (answer.status_code, answer.json()["status"]) == (200, "stopped")
    assert project.container_name not in engine.containers  # the loser cannot start what is gone


@pytest.mark.parametrize("action", ["start", "stop", "restart"])
def test_an_expired_operation_is_taken_over(action: str, control: Control, project: Project) -> None:
    in_flight(project, "restart", seconds=-1)
    answer = control(action)
    assert (answer.status_code, answer.json()["status"]) == (200, "stopped" if action == "stop" else "running")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("step", ["deploy.create", "deploy.confirm", "deploy.start"])
def test_a_stop_during_a_slow_deploy_wins_and_leaves_no_container(
    step: str, api: APIClient, body: dict[str, Any], engine: MemoryEngine
) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        reached.set()
        go_on.wait(60)

    engine.slow(step, hold)
    answers: list[Any] = []

    def deploy() -> None:
        answers.append(api.post("/api/projects", body))
        connection.close()

    thread = threading.Thread(target=deploy)
    thread.start()
    assert reached.wait(60)
    project = Project.objects.get()
    assert project.status == "deploying"
    stopped = api.post(f"/api/projects/{project.id}/control", {"action": "stop"})
    assert (stopped.status_code, stopped.json()["status"]) == (200, "stopped")
    go_on.set()
    thread.join(60)
    assert not engine.containers
    assert (answers[0].status_code, answers[0].json()["status"]) == (201, "stopped")
    assert api.get("/api/projects").json()[0]["status"] == "stopped"
