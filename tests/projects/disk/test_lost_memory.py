"""An agent's memory was removed from the engine: its owner is notified once when it starts without it."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from containers.errors import EngineRefusedError, EngineUnavailableError
from projects.models import Event, Project
from projects.models.operation import Claim
from projects.rules.alerts import AlertKind, find_kind
from projects.services.commands.lost_memory import record_lost_memory
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine

SILENT = EngineUnavailableError("Silent.")


def told(project: Project) -> list[str]:
    return list(Event.objects.filter(project_id=project.pk, action="memory").values_list("outcome", flat=True))


def command(api: APIClient, project: Project, action: str) -> int:
    return api.post(f"/api/projects/{project.pk}/control", {"action": action}).status_code


def prune(engine: MemoryEngine, project: Project) -> None:
    """Does what `docker system prune --volumes` does to stopped containers."""
    engine.vanish(project.container_name)
    for volume in [volume for volume in engine.volumes if volume.startswith(project.container_name)]:
        engine.volumes.discard(volume)


def test_the_owner_is_notified_once_of_an_empty_memory(api: APIClient, stopped: Project, engine: MemoryEngine) -> None:
    prune(engine, stopped)
    assert command(api, stopped, "start") == 200
    assert told(stopped) == ["gone"]
    assert command(api, stopped, "restart") == 200
    assert told(stopped) == ["gone"]
    shown = [each for each in api.get(f"/api/projects/{stopped.pk}/events").json() if each["action"] == "memory"]
    assert [(each["outcome"], each["actor"]) for each in shown] == [("gone", "system")]
    assert find_kind("memory", "gone", needs_owner=False) is AlertKind.DEGRADED


@pytest.mark.parametrize(
    "silence", [lambda engine: engine.fail("deploy.start", SILENT), lambda engine: engine.lose("deploy")]
)
def test_the_owner_is_notified_although_the_result_of_the_start_is_lost(
    api: APIClient, stopped: Project, engine: MemoryEngine, silence: Callable[[MemoryEngine], None]
) -> None:
    """The next start finds the memory that this one created."""
    prune(engine, stopped)
    silence(engine)
    assert command(api, stopped, "start") == 503
    assert told(stopped) == ["gone"]
    assert command(api, stopped, "start") == 200
    assert told(stopped) == ["gone"]


def test_an_operation_that_lost_the_project_notifies_nobody(stopped: Project) -> None:
    Project.objects.filter(pk=stopped.pk).update(has_state=True)
    stopped.has_state = True
    record_lost_memory(stopped, Claim(id=uuid4(), generation=1, contested=False))
    assert told(stopped) == []


def test_the_owner_is_notified_if_the_watcher_recreates_the_agent(project: Project, engine: MemoryEngine) -> None:
    prune(engine, project)
    reconcile()
    assert engine.containers[project.container_name].is_up
    assert told(project) == ["gone"]


def _clear(api: APIClient, project: Project, _engine: MemoryEngine) -> None:
    assert api.delete(f"/api/projects/{project.pk}/memory").status_code == 200


def _clear_in_vain(api: APIClient, project: Project, engine: MemoryEngine) -> None:
    """The memory was deleted, and the result was lost."""
    engine.lose("remove")
    assert api.delete(f"/api/projects/{project.pk}/memory").status_code == 503


def _clear_and_not_start(api: APIClient, project: Project, engine: MemoryEngine) -> None:
    engine.fail("deploy.start", EngineRefusedError("No."))
    assert api.delete(f"/api/projects/{project.pk}/memory").status_code == 502


def _lose_the_container(_api: APIClient, project: Project, engine: MemoryEngine) -> None:
    engine.vanish(project.container_name)


def _come_from_an_older_version(_api: APIClient, project: Project, engine: MemoryEngine) -> None:
    Project.objects.filter(pk=project.pk).update(has_state=False)
    prune(engine, project)


@pytest.mark.parametrize(
    "happens", [_clear, _clear_in_vain, _clear_and_not_start, _lose_the_container, _come_from_an_older_version]
)
def test_nobody_is_notified_of_an_intended_or_known_loss(
    happens: Callable[[APIClient, Project, MemoryEngine], None], api: APIClient, project: Project, engine: MemoryEngine
) -> None:
    happens(api, project, engine)
    command(api, project, "start")
    assert command(api, project, "restart") == 200
    assert told(project) == []
    assert Project.objects.get(pk=project.pk).has_state


def test_a_first_start_that_fails_leaves_nothing_to_miss(
    api: APIClient, body: dict[str, object], engine: MemoryEngine
) -> None:
    engine.fail("deploy.start", EngineUnavailableError("Silent."))
    api.post("/api/projects", body)
    for project in Project.objects.all():
        command(api, project, "start")
        assert told(project) == []
