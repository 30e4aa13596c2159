"""What a round of the watcher does about unfinished operations."""

from datetime import timedelta

import pytest
from django.utils import timezone

from projects.models import Project
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.rows import later, status_of


def test_a_stop_recorded_while_the_engine_was_down_is_carried_out(project: Project, engine: MemoryEngine) -> None:
    later(project, desired="stopped")
    reconcile()
    assert engine.containers[project.container_name].state == "exited"
    assert status_of(project) == "stopped"


def test_a_deletion_begun_is_finished(project: Project, engine: MemoryEngine) -> None:
    later(project, desired="deleted")
    reconcile()
    assert not engine.containers
    assert not engine.volumes
    assert not Project.objects.exists()


def test_an_operation_in_flight_is_left_alone(project: Project, engine: MemoryEngine) -> None:
    deadline = timezone.now() + timedelta(seconds=30)
    later(project, operation="restart", operation_id=project.id, operation_deadline=deadline)
    engine.vanish(project.container_name)
    assert reconcile().repaired == []
    assert status_of(project) == "restarting"


@pytest.mark.parametrize("operation", ["deploy", "start", "restart"])
def test_an_expired_operation_is_completed(operation: str, project: Project, engine: MemoryEngine) -> None:
    """The server was killed after the claim: the container, if any, has the previous generation."""
    expired = timezone.now() - timedelta(seconds=1)
    later(
        project,
        operation=operation,
        operation_id=project.id,
        operation_deadline=expired,
        generation=project.generation + 1,
    )
    assert reconcile().repaired == [f"bring back: {project.container_name}"]
    project.refresh_from_db()
    assert (project.operation, status_of(project)) == ("", "running")
    assert engine.containers[project.container_name].observation.generation == project.generation


def test_an_expired_stop_is_completed(project: Project, engine: MemoryEngine) -> None:
    expired = timezone.now() - timedelta(seconds=1)
    later(project, desired="stopped", operation="stop", operation_id=project.id, operation_deadline=expired)
    reconcile()
    assert status_of(project) == "stopped"
    assert Project.objects.get().operation == ""


def test_an_expired_stop_of_a_stopped_agent_is_cleared(project: Project, engine: MemoryEngine) -> None:
    engine.exit(project.container_name)
    expired = timezone.now() - timedelta(seconds=1)
    later(project, desired="stopped", operation="stop", operation_id=project.id, operation_deadline=expired)
    reconcile()
    assert status_of(project) == "stopped"
    assert Project.objects.get().operation == ""
