"""A project that staff suspend while its memory is being cleared keeps the memory."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from projects.models import Event, Project
from projects.services import suspend_project
from projects.watcher.reconcile.full import reconcile
from tests.clients import api_of
from tests.fakes.engine import MemoryEngine
from tests.projects.disk.measuring import keep
from tests.projects.services.races import once
from tests.security.suspending import STAFF


def suspend(project: Project) -> None:
    suspend_project(project=Project.objects.get(pk=project.pk), actor=STAFF)


def suspend_by_hand(project: Project) -> None:
    Project.objects.filter(pk=project.pk).update(suspended_at=timezone.now())


def deactivate_owner(project: Project) -> None:
    User.objects.filter(pk=project.owner_id).update(is_active=False)


def stop_and_start(project: Project) -> None:
    """The owner has changed their mind: what the agent stores after that must not be cleared."""
    for action in ("stop", "start"):
        api_of(project.owner).post(f"/api/projects/{project.pk}/control", {"action": action})


@pytest.mark.parametrize("is_running", [True, False])
@pytest.mark.parametrize("meanwhile", [suspend, suspend_by_hand, deactivate_owner])
def test_a_project_suspended_meanwhile_keeps_its_memory(
    project: Project, engine: MemoryEngine, meanwhile: Callable[[Project], Any], is_running: bool
) -> None:
    """The agent may take its time to stop, because the owner chooses it."""
    keep(engine, project, 0.5)
    if not is_running:
        api_of(project.owner).post(f"/api/projects/{project.pk}/control", {"action": "stop"})
    once(engine, "stop", lambda: meanwhile(project))
    answer = api_of(project.owner).delete(f"/api/projects/{project.pk}/memory")
    assert (answer.status_code, answer.json()["code"]) == (409, "project_suspended")
    assert project.container_key in engine.disks
    reconcile()
    row = Project.objects.get(pk=project.pk)
    assert (row.status, row.operation) == ("suspended", "")
    assert not any(container.is_up for container in engine.containers.values())
    assert Event.objects.filter(project_id=project.pk, action="clear memory").get().outcome == "failed"


def test_a_project_restarted_meanwhile_keeps_its_memory(project: Project, engine: MemoryEngine) -> None:
    keep(engine, project, 0.5)
    once(engine, "stop", lambda: stop_and_start(project))
    answer = api_of(project.owner).delete(f"/api/projects/{project.pk}/memory")
    assert (answer.status_code, answer.json()["code"]) == (409, "superseded")
    assert project.container_key in engine.disks
