"""A stop or a suspension that finds another stop in flight, which ends before its wish is written."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.models import Actor, Project
from projects.services import suspend_project
from projects.services.limits.capacity import reserve_memory
from tests.fakes.engine import MemoryEngine
from tests.projects.services.races import held, status

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]
STAFF = Actor(label="sam@example.com", source="admin")
End = Callable[[Project, APIClient], object]


def suspend(project: Project, _api: APIClient) -> None:
    suspend_project(project=Project.objects.select_related("owner").get(pk=project.pk), actor=STAFF)


def stop(project: Project, api: APIClient) -> None:
    assert api.post(f"/api/projects/{project.pk}/control", {"action": "stop"}).status_code == 200


@pytest.mark.parametrize("successor", ["", "start", "restart"])
@pytest.mark.parametrize(("end", "then"), [(suspend, "suspended"), (stop, "stopped")])
def test_whatever_follows_the_stop_gives_way(
    end: End,
    then: str,
    successor: str,
    engine: MemoryEngine,
    project: Project,
    api: APIClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held(project, "stop", seconds=20)
    want = Project.want

    def end_first(it: Project, **values: Any) -> bool:
        monkeypatch.setattr(Project, "want", want)
        held(project, successor or "stop", seconds=20)
        if not successor:
            Project.objects.update(operation="", operation_id=None, operation_deadline=None)
        return want(it, **values)

    monkeypatch.setattr(Project, "want", end_first)
    end(project, api)
    assert Project.objects.get().operation == ""
    assert status(api, project) == then
    assert not any(container.is_up for container in engine.containers.values())


def test_a_start_does_not_begin_once_its_project_is_suspended(
    engine: MemoryEngine, project: Project, api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The suspension was left to a stop, so that it began no new generation."""
    stop(project, api)
    calls = len(engine.calls)

    def suspend_first(**values: Any) -> Any:
        Project.objects.update(suspended_at=project.created_at)
        return reserve_memory(**values)

    monkeypatch.setattr("projects.services.commands.control.reserve_memory", suspend_first)
    answer = api.post(f"/api/projects/{project.pk}/control", {"action": "start"})
    assert (answer.status_code, answer.json()["code"]) == (409, "project_suspended")
    assert "deploy" not in {verb for verb, _ in engine.calls[calls:]}
    assert Project.objects.get().operation == ""
