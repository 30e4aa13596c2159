"""DELETE /api/projects/{id}/memory: the agent's memory is deleted, and it starts with an empty one."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from containers.errors import (
    EngineError,
    EngineRefusedError,
    EngineUnavailableError,
    FirewallMissingError,
    ImageMissingError,
    SupersededError,
)
from projects.models import Event, Project
from projects.services.commands.clearing import CLEARED
from projects.watcher.reconcile.full import reconcile
from projects.watcher.upkeep.disk import measure_disks
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.projects.disk.measuring import fill, keep


@pytest.fixture
def clear(api: APIClient, project: Project) -> Callable[..., Any]:
    return lambda: api.delete(f"/api/projects/{project.pk}/memory")


def kept(engine: MemoryEngine, project: Project) -> bool:
    return project.container_key in engine.disks


def test_a_full_agent_restarts_with_an_empty_memory(clear: Any, project: Project, engine: MemoryEngine) -> None:
    fill(engine, project)
    engine.log(project.container_name, "the last words")
    answer = clear()
    assert (answer.status_code, answer.json()["status"]) == (200, "running")
    assert (answer.json()["disk"]["used"], answer.json()["disk"]["files"]) == (0, 0)
    assert answer.json()["status_reason"] is None
    assert not kept(engine, project)
    assert f"{project.container_name}-data" in engine.volumes
    reconcile()
    measure_disks()
    project.refresh_from_db()
    assert (project.status, project.failure_code, project.disk_used) == ("running", "", 4096)
    event = Event.objects.filter(project_id=project.pk, action="clear memory").get()
    assert (event.outcome, event.actor, event.source) == ("done", "alice@example.com", "session")
    assert "the last words" in project.runs.order_by("number").last().log  # type: ignore[union-attr]  # it is there


def test_a_stopped_agent_stays_stopped(clear: Any, stopped: Project, engine: MemoryEngine) -> None:
    keep(engine, stopped, 1.5)
    measure_disks()
    answer = clear()
    assert (answer.status_code, answer.json()["status"]) == (200, "stopped")
    assert not kept(engine, stopped)
    assert not engine.containers
    for _ in range(2):
        reconcile()
    stopped.refresh_from_db()
    assert (stopped.status, stopped.failure_code) == ("stopped", "")


def test_an_agent_that_gave_up_restarts_with_an_empty_memory(
    clear: Any, project: Project, engine: MemoryEngine
) -> None:
    engine.crash(project.container_name, exit_code=20, restarting=True)
    reconcile()
    assert clear().json()["status"] == "running"
    project.refresh_from_db()
    assert (project.gave_up_at, project.crash_count) == (None, 0)


def test_an_agent_without_its_bot_stays_down(clear: Any, project: Project, engine: MemoryEngine) -> None:
    fill(engine, project)
    Project.objects.update(failure_code="bot_claimed", failed_at=timezone.now())
    answer = clear()
    assert (answer.status_code, answer.json()["status"]) == (200, "failed")
    assert answer.json()["status_reason"]["code"] == "bot_claimed"
    assert not kept(engine, project)


def test_a_suspended_agent_keeps_its_memory(clear: Any, project: Project, engine: MemoryEngine) -> None:
    keep(engine, project, 0.5)
    Project.objects.update(suspended_at=timezone.now())
    answer = clear()
    assert (answer.status_code, answer.json()["code"]) == (409, "project_suspended")
    assert kept(engine, project)


@pytest.mark.parametrize("verb", ["inspect", "stop", "remove"])
@pytest.mark.parametrize("error", [EngineUnavailableError, EngineRefusedError])
def test_after_an_engine_failure_the_status_is_true_and_a_retry_completes(
    verb: str, error: Any, clear: Any, project: Project, engine: MemoryEngine
) -> None:
    fill(engine, project)
    engine.fail(verb, error)
    assert clear().status_code in {502, 503}
    reconcile()
    project.refresh_from_db()
    assert kept(engine, project)
    assert (project.status, project.failure_code, project.operation) == ("failed", "disk_full", "")
    assert clear().status_code == 200
    project.refresh_from_db()
    assert project.status == "running"


@pytest.mark.parametrize("verb", ["inspect", "stop", "remove", "deploy", "deploy.create", "deploy.start"])
@pytest.mark.parametrize(
    "error",
    [EngineUnavailableError, EngineRefusedError, FirewallMissingError, ImageMissingError, SupersededError],
)
@pytest.mark.parametrize("is_page", [True, False])
def test_a_clearing_that_fails_says_whether_the_memory_is_gone(
    verb: str, error: type[EngineError], clear: Any, project: Project, engine: MemoryEngine, *, is_page: bool
) -> None:
    """It is gone for good. To its owner, the failure of the start alone would mean that it is still there."""
    fill(engine, project)
    engine.fail(verb, error)
    if is_page:
        said = browser_of(project.owner).post(f"/projects/{project.pk}/memory", {"name": project.name})
        words = said.content.decode()
    else:
        words = clear().json().get("detail", "")
    is_gone = not kept(engine, project)
    row = Project.objects.get(pk=project.pk)
    event = Event.objects.filter(project_id=project.pk, action="clear memory").get()
    assert (event.outcome == "done") == is_gone
    assert (CLEARED in words) == (event.detail == CLEARED) == (is_gone and not row.facts().is_up)


@pytest.mark.parametrize("verb", ["deploy.create", "deploy.start"])
def test_the_memory_is_empty_even_if_the_restart_fails(
    verb: str, clear: Any, project: Project, engine: MemoryEngine
) -> None:
    fill(engine, project)
    engine.fail(verb, EngineRefusedError)
    answer = clear()
    assert (answer.status_code, answer.json()["code"]) == (502, "engine_error")
    project.refresh_from_db()
    assert (project.failure_code, project.disk_used) == ("engine_refused", 0)
    assert not kept(engine, project)
    engine.fail(verb, EngineUnavailableError)
    assert clear().status_code == 503
    reconcile()
    project.refresh_from_db()
    assert project.status == "running"


def test_a_clearing_interrupted_by_a_kill_is_completed(clear: Any, project: Project, engine: MemoryEngine) -> None:
    """It died after the volume was removed, and before the agent started again."""
    fill(engine, project)

    class KilledError(BaseException):
        pass

    def die() -> None:
        raise KilledError

    engine.slow("deploy.create", die)
    with pytest.raises(KilledError):
        clear()
    engine.slow("deploy.create", None)
    Project.objects.update(operation_deadline=timezone.now())
    reconcile()
    measure_disks()
    reconcile()
    project.refresh_from_db()
    assert (project.status, project.failure_code) == ("running", "")


def test_the_page_asks_first(project: Project, engine: MemoryEngine, bob: Any) -> None:
    fill(engine, project)
    browser = browser_of(project.owner)
    page = browser.get(f"/projects/{project.pk}")
    assert f'href="/projects/{project.pk}/memory"' in page.content.decode()
    assert "Its memory is full: 5.5 GB of 5 GB." in page.content.decode()
    address = f"/projects/{project.pk}/memory"
    assert "deleted permanently" in browser.get(address).content.decode()
    assert browser.post(address, {"name": "Something else"}).status_code == 400
    assert browser_of(bob).post(address, {"name": project.name}).status_code == 404
    assert kept(engine, project)
    answer = browser.post(address, {"name": project.name}, follow=True)
    assert "no longer remembers anything" in answer.content.decode()
    assert not kept(engine, project)


def test_the_page_explains_a_refusal(project: Project, engine: MemoryEngine) -> None:
    engine.unavailable = True
    answer = browser_of(project.owner).post(f"/projects/{project.pk}/memory", {"name": project.name})
    assert answer.status_code == 503
    assert "The container engine does not answer." in answer.content.decode()
