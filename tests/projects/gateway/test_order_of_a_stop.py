"""A stop connects to the gateway while the agent ends, and voids its entry afterwards."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from projects.models import Project
from projects.services.gateway import early_connection as service
from tests.fakes.engine import MemoryEngine
from tests.fakes.memory_gateway import MemoryTransport
from tests.projects.gateway.entries import entry_of

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]
Control = Callable[..., Any]


def test_the_gateway_connection_opens_during_the_stop_and_the_agent_can_finish_its_reply(
    engine: MemoryEngine, project: Project, control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_open, in_force = threading.Event(), []

    def end() -> None:
        assert is_open.wait(100), "Nobody opens the way while the agent ends."
        in_force.append(entry_of(engine, project) is not None)

    monkeypatch.setattr(MemoryTransport, "prepare", lambda _self, *, within: is_open.set())
    engine.slow("stop", end)
    assert control(project, "stop").json()["status"] == "stopped"
    assert in_force == [True]
    assert entry_of(engine, project) is None


def test_a_gateway_connection_that_does_not_open_delays_the_stop_up_to_its_limit(
    engine: MemoryEngine, project: Project, control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    monkeypatch.setattr(service, "WITHIN", 0.05)
    monkeypatch.setattr(MemoryTransport, "prepare", lambda _self, *, within: released.wait(100))
    try:
        assert control(project, "stop").json()["status"] == "stopped"
        assert entry_of(engine, project) is None
    finally:
        released.set()


def test_without_virtual_credentials_no_gateway_connection_is_opened(
    engine: MemoryEngine, without_gateway: Project, control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []
    monkeypatch.setattr(MemoryTransport, "prepare", lambda _self, *, within: opened.append(within))
    assert control(without_gateway, "stop").json()["status"] == "stopped"
    assert opened == []
