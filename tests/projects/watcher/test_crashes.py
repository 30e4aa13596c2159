"""What a round of the watcher does about agents that end by themselves."""

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from projects.models import Event, Project
from projects.watcher.reconcile.full import reconcile
from tests.canaries import CANARY_API_KEY
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.rows import later, status_of


@pytest.mark.parametrize("exit_code", [20, 21, 30, 31, 32, 40])
def test_an_exit_that_no_restart_cures_is_given_up_at_once(
    exit_code: int, project: Project, engine: MemoryEngine
) -> None:
    engine.crash(project.container_name, exit_code=exit_code, restarting=True)
    reconcile()
    assert engine.containers[project.container_name].state == "exited"
    assert status_of(project) == "crashed"
    assert reconcile().repaired == []


@pytest.mark.parametrize("exit_code", [1, 20, 30, 137])
def test_a_stop_of_ours_does_not_hide_why_the_agent_crashed(
    exit_code: int, project: Project, engine: MemoryEngine
) -> None:
    """The engine has started the agent once more when the stop arrives, and that run ends with exit code 0."""
    for _ in range(4 if exit_code in {1, 137} else 0):
        engine.crash(project.container_name, exit_code=exit_code, restarting=True)
        reconcile()
    engine.crash(project.container_name, exit_code=exit_code, restarting=True)
    engine.slow("stop", lambda: engine.restart_once_more(project.container_name))
    assert reconcile().repaired == [f"give up: {project.container_name}"]
    assert engine.containers[project.container_name].exit_code == 0
    for _ in range(2):
        project.refresh_from_db()
        assert (status_of(project), project.exit_code) == ("crashed", exit_code)
        reconcile()


def test_the_engine_restarts_an_agent_until_its_fifth_crash(project: Project, engine: MemoryEngine) -> None:
    for _ in range(4):
        engine.crash(project.container_name, exit_code=1, restarting=True)
        assert reconcile().repaired == []
        assert status_of(project) == "restarting"
    engine.crash(project.container_name, exit_code=1, restarting=True)
    assert reconcile().repaired == [f"give up: {project.container_name}"]
    project.refresh_from_db()
    assert status_of(project) == "crashed"
    assert "It ended 5 times within 10 minutes." in (project.reason.message if project.reason else "")


def test_crashes_further_apart_are_not_a_loop(project: Project, engine: MemoryEngine) -> None:
    for _ in range(8):
        engine.crash(project.container_name, exit_code=1, restarting=True)
        assert reconcile().repaired == []
        later(project, crashes_since=timezone.now() - timedelta(minutes=11))


def test_the_end_of_the_log_is_kept_without_credentials(project: Project, engine: MemoryEngine, api: APIClient) -> None:
    for number in range(30):
        engine.log(project.container_name, f"line {number} {CANARY_API_KEY}")
    engine.crash(project.container_name, exit_code=1, restarting=True)
    reconcile()
    detail = api.get(f"/api/projects/{project.id}").json()
    tail = detail["status_reason"]["log_tail"]
    assert len(tail) == 20
    assert tail[-1].endswith("line 29 [redacted]")


@pytest.mark.parametrize("exit_code", [0, 137, 143])
def test_a_container_stopped_behind_our_back_is_brought_back(
    exit_code: int, project: Project, engine: MemoryEngine
) -> None:
    engine.exit(project.container_name, exit_code)
    assert reconcile().repaired == [f"bring back: {project.container_name}"]
    assert status_of(project) == "running"
    assert Project.objects.get().crash_count == 1


def test_crash_and_remedy_are_in_the_events(project: Project, engine: MemoryEngine) -> None:
    engine.exit(project.container_name, 1)
    reconcile()
    events = Event.objects.filter(actor="system").values_list("action", "outcome")
    assert set(events) == {("crash", "crash"), ("bring back", "done")}
