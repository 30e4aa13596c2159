"""POST /api/projects/{id}/control: start, stop and restart."""

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from projects.models import Event, Project
from tests.fakes.engine import MemoryEngine
from tests.projects.api.commands import Control


def test_stop_ends_the_container(control: Control, project: Project, engine: MemoryEngine) -> None:
    answer = control("stop")
    assert (answer.status_code, answer.json()["status"]) == (200, "stopped")
    assert answer.json()["status_reason"] is None
    assert engine.containers[project.container_name].state == "exited"


def test_start_runs_a_stopped_agent_again(control: Control, stopped: Project, engine: MemoryEngine) -> None:
    answer = control("start")
    assert (answer.status_code, answer.json()["status"]) == (200, "running")
    assert engine.containers[stopped.container_name].state == "running"


def test_restart_creates_a_new_container(control: Control, project: Project, engine: MemoryEngine) -> None:
    before = engine.containers[project.container_name].container_id
    assert control("restart").json()["status"] == "running"
    assert engine.containers[project.container_name].container_id != before
    assert len(engine.containers) == 1


def test_starting_a_running_agent_does_nothing(control: Control, project: Project, engine: MemoryEngine) -> None:
    before = engine.containers[project.container_name].container_id
    answer = control("start")
    assert (answer.status_code, answer.json()["status"]) == (200, "running")
    assert engine.containers[project.container_name].container_id == before


def test_a_second_stop_is_fine(control: Control, stopped: Project) -> None:
    answer = control("stop")
    assert (answer.status_code, answer.json()["status"]) == (200, "stopped")


@pytest.mark.parametrize("action", ["start", "restart"])
def test_a_crashed_agent_is_started_and_its_crashes_are_forgotten(
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


@pytest.mark.parametrize("action", ["start", "restart"])
def test_a_suspended_project_cannot_be_started(action: str, control: Control, project: Project) -> None:
    Project.objects.update(suspended_at=timezone.now())
    answer = control(action)
    assert (answer.status_code, answer.json()["code"]) == (409, "project_suspended")


def test_a_suspended_project_can_be_stopped(control: Control, project: Project) -> None:
    Project.objects.update(suspended_at=timezone.now())
    answer = control("stop")
    assert (answer.status_code, answer.json()["status"]) == (200, "suspended")


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
def test_a_stranger_gets_the_same_404_as_for_an_unknown_id(
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
