"""What happens when requests meet, one step at a time. They meet in the hooks of the engine."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from containers.errors import EngineRefusedError
from projects.models import Actor, Event, Project, Watch
from projects.services import suspend_project
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.services.races import grow_old, once


@pytest.mark.parametrize("path", ["/api/projects", "/api/projects/{id}"])
def test_a_read_during_a_stop_never_takes_it_for_a_crash(
    path: str, project: Project, engine: MemoryEngine, api: APIClient, control: Any
) -> None:
    grow_old(project)
    once(engine, "observe", lambda: control("stop"))
    answer = api.get(path.format(id=project.id)).json()
    detail = answer[0] if isinstance(answer, list) else answer
    assert detail["status"] == "stopped"


def test_a_read_during_a_deletion_says_deleting(project: Project, engine: MemoryEngine, api: APIClient) -> None:
    grow_old(project)
    once(engine, "observe", lambda: api.delete(f"/api/projects/{project.id}"))
    assert [row["status"] for row in api.get("/api/projects").json()] == ["deleting"]
    assert api.get("/api/projects").json() == []


def test_a_second_start_does_nothing(project: Project, engine: MemoryEngine, control: Any) -> None:
    control("stop")
    once(engine, "inspect", lambda: control("start"))
    assert control("start").status_code == 200
    assert Event.objects.filter(outcome="nothing to do").count() == 1
    assert [verb for verb, _ in engine.calls].count("deploy") == 2  # the creation, and one start


def test_a_creation_that_loses_to_a_deletion_says_so(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine
) -> None:
    once(engine, "deploy.confirm", lambda: api.delete(f"/api/projects/{Project.objects.get().id}"))
    answer = api.post("/api/projects", body)
    assert (answer.status_code, answer.json()["code"]) == (409, "superseded")
    assert not engine.containers
    assert not engine.volumes


@pytest.mark.parametrize("action", ["start", "restart"])
def test_a_command_that_loses_to_a_deletion_finds_nothing(
    action: str, project: Project, engine: MemoryEngine, api: APIClient, control: Any
) -> None:
    control("stop")
    once(engine, "inspect", lambda: api.delete(f"/api/projects/{project.id}"))
    assert control(action).status_code == 404
    assert not engine.containers


def test_waiting_for_a_project_that_is_deleted_ends_with_gone(
    project: Project, engine: MemoryEngine, api: APIClient, control: Any
) -> None:
    engine.ready_after_deploy = False
    control("stop")
    once(engine, "observe", lambda: api.delete(f"/api/projects/{project.id}"))
    Watch.objects.all().delete()
    assert control("start", "?wait=10").status_code == 404


def test_a_suspension_that_the_engine_refuses_does_not_hold_the_project(project: Project, engine: MemoryEngine) -> None:
    engine.fail("stop", EngineRefusedError("The device is busy."))
    with pytest.raises(EngineRefusedError):
        suspend_project(project=project, actor=Actor(label="staff@example.org", source="admin"))
    assert Project.objects.get().operation == ""
    reconcile()
    assert not engine.containers[project.container_name].is_up
