"""The remains of an operation that was killed or that the engine interrupted, and how it is completed."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from containers.errors import EngineUnavailableError
from projects.models import Project
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.services.races import beat, grow_old, held, status


def test_a_restart_killed_between_the_old_container_and_the_new_one_is_completed(
    project: Project, engine: MemoryEngine, api: APIClient
) -> None:
    held(project, "restart", seconds=-1, generation=project.generation + 1)
    engine.vanish(project.container_name)
    assert reconcile().repaired == [f"recreate: {project.container_name}"]
    assert Project.objects.get().operation == ""
    assert status(api, project) == "running"


def test_a_stop_killed_before_it_could_write_leaves_no_operation_behind(
    project: Project, engine: MemoryEngine, api: APIClient
) -> None:
    engine.exit(project.container_name)
    reconcile(repair=False)
    held(project, "stop", seconds=-1, desired="stopped")
    reconcile()
    assert Project.objects.get().operation == ""
    assert status(api, project) == "stopped"


def test_the_heartbeat_does_not_vouch_for_the_remains_of_a_killed_operation(
    project: Project, engine: MemoryEngine, api: APIClient
) -> None:
    grow_old(project)
    held(project, "restart", seconds=-1)
    engine.vanish(project.container_name)
    beat()
    assert status(api, project) == "crashed"
    engine.unavailable = True
    assert status(api, project) == "unknown"


def test_a_heartbeat_from_before_the_end_of_an_operation_does_not_vouch_for_it(
    project: Project, engine: MemoryEngine, api: APIClient, control: Any
) -> None:
    """The restart has removed the container when the engine falls silent."""
    grow_old(project)
    beat()
    engine.fail("deploy.start", EngineUnavailableError)
    assert control("restart").status_code == 503
    assert project.container_name not in engine.containers
    assert status(api, project) == "crashed"
    engine.unavailable = True
    assert status(api, project) == "unknown"


def test_a_container_is_recreated_although_the_engine_falls_silent_repeatedly(
    project: Project, engine: MemoryEngine, api: APIClient
) -> None:
    engine.vanish(project.container_name)
    for _ in range(3):
        engine.fail("deploy.create", EngineUnavailableError)
        with pytest.raises(EngineUnavailableError):
            reconcile()
    assert reconcile().repaired == [f"recreate: {project.container_name}"]
    assert status(api, project) == "running"


def test_an_engine_that_goes_down_again_and_again_does_not_make_an_agent_vanish(
    project: Project, engine: MemoryEngine, api: APIClient
) -> None:
    """On its way down it stops the agents, and accepts one or two last commands."""
    for _ in range(3):
        before = engine.containers[project.container_name].container_id
        engine.exit(project.container_name)
        engine.fail("deploy.start", EngineUnavailableError)
        with pytest.raises(EngineUnavailableError):
            reconcile()
        assert engine.containers[project.container_name].container_id == before
        assert reconcile().repaired == [f"bring back: {project.container_name}"]
        assert status(api, project) == "running"


def test_a_container_removed_by_an_interrupted_command_has_not_vanished(
    project: Project, engine: MemoryEngine, api: APIClient
) -> None:
    for _ in range(3):
        engine.pause(project.container_name)
        engine.fail("deploy.start", EngineUnavailableError)
        with pytest.raises(EngineUnavailableError):
            reconcile()
        assert not engine.containers
        assert reconcile().repaired == [f"recreate: {project.container_name}"]
        assert status(api, project) == "running"
