"""A gateway that hangs delays nobody for longer than its limit, and the watcher's own thread looks after it."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from containers.errors import EngineUnavailableError
from containers.outbound.call_limits import seconds_left
from projects.models import Actor, Event, Project
from projects.services import suspend_project
from projects.services.gateway import synchronization as service
from projects.watcher.gateway import upkeep as look
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.entries import counts_for, entry_of, knows
from tests.waiting import wait_until
from tests.watchers import watchers_in_threads

pytestmark = pytest.mark.django_db(transaction=True)
STAFF = Actor(label="sam@example.com", source="admin")


@pytest.fixture
def hanging(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No message reaches the gateway during this, and nobody waits for long."""
    monkeypatch.setattr(service, "WITHIN", 0.1)
    released = threading.Event()

    def hold() -> None:
        """Blocks like the engine: until the caller's time is over."""
        if not released.wait(seconds_left() or 0.0):
            raise EngineUnavailableError("It has not answered in time.")

    engine.slow("gateway", hold)
    yield
    engine.slow("gateway", None)
    released.set()


def test_a_deploy_continues_without_a_hanging_gateway(hanging: None, deploy: Callable[..., Project]) -> None:
    project = deploy()
    assert project.status == "running"
    assert "not answered in time" in Event.objects.get(project_id=project.pk, action="gateway").detail


def test_a_suspension_continues_without_a_hanging_gateway(project: Project, hanging: None) -> None:
    suspend_project(project=project, actor=STAFF)
    assert Event.objects.filter(project_id=project.pk, action="gateway", outcome="not told").exists()


def test_the_watcher_sends_the_missed_entries(
    engine: MemoryEngine, project: Project, api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.fail("gateway", EngineUnavailableError)
    api.post(f"/api/projects/{project.pk}/control", {"action": "stop"})
    assert entry_of(engine, project) is not None
    monkeypatch.setattr(look, "FIRST", 0.02)
    with watchers_in_threads() as start:
        start()
        wait_until(lambda: knows(engine, project))
    assert entry_of(engine, project) is None


def test_only_the_leading_watcher_sends_missed_entries(engine: MemoryEngine, project: Project) -> None:
    engine.calls.clear()
    gateways = look.Gateways(lambda: False)
    gateways._try()
    assert engine.calls == []
    assert counts_for(engine, project) == (True, True)
