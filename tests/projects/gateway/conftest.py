"""Alice's projects behind the gateway that the engine in memory runs."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

import tests.gateway.import_path  # noqa: F401 - makes the gateway importable
from accounts import clock
from accounts.credentials import session_tokens
from projects.models import Plan, Project
from projects.watcher.gateway.leases import Round
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.fakes.engine import MemoryEngine
from tests.fakes.gateway import MemoryGateway
from tests.projects.gateway.naming import admin, groq
from tests.projects.gateway.nodes import Nodes
from tests.projects.gateway.spending import Clock

__all__ = ["admin", "groq"]


@pytest.fixture(autouse=True)
def _behind_gateway(settings: Any) -> None:
    settings.BERTH_GATEWAY = True


@pytest.fixture
def gateway(engine: MemoryEngine) -> MemoryGateway:
    return engine.gateway_program


@pytest.fixture
def without_gateway(deploy: Callable[..., Project], settings: Any) -> Project:
    """A project from before the gateway."""
    settings.BERTH_GATEWAY = False
    project = deploy()
    settings.BERTH_GATEWAY = True
    return project


@pytest.fixture
def control(api: Any) -> Callable[..., Any]:
    def send(project: Project, action: str) -> Any:
        return api.post(f"/api/projects/{project.pk}/control", {"action": action})

    return send


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Sessions use the machine's clock, because the library that reads their tokens knows no other."""
    found = Clock()
    monkeypatch.setattr(clock, "now", lambda: found.now)
    monkeypatch.setattr(session_tokens, "clock", SimpleNamespace(now=timezone.now))
    return found


@pytest.fixture
def use(engine: MemoryEngine, gateway: MemoryGateway, time: Clock) -> Callable[..., None]:
    """The agent uses tokens, and the watcher reads the counts."""

    def use(project: Project, tokens: int = 0, **counts: int) -> None:
        gateway.use(str(project.pk), model="gpt", hour=time.hour, input=tokens, requests=1, **counts)
        look_after_gateway()

    return use


@pytest.fixture
def limited(time: Clock, deploy: Callable[..., Project], settings: Any) -> Project:
    """With a budget of 1,000 tokens a day and 5,000 a month."""
    settings.BERTH_SENDS_MAIL = True
    Plan.objects.filter(slug="pro").update(day_tokens=1000, month_tokens=5000)
    return deploy()


@pytest.fixture
def nodes(engine: MemoryEngine, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nodes:
    settings.BERTH_GATEWAY_ON_EACH_NODE = True
    found = Nodes(tmp_path)
    monkeypatch.setattr(engine, "gateways", found.gateways)
    monkeypatch.setattr(engine, "places", found.places)
    return found


@pytest.fixture
def leader(nodes: Nodes) -> Round:
    return Round(lambda: nodes.now)


@pytest.fixture
def agent(nodes: Nodes, leader: Round, deploy: Callable[..., Project]) -> Project:
    """Runs on the node a, whose gateway admits it."""
    project = deploy()
    assert not nodes.letting_pass(project), "It is told everywhere, and counts nowhere."
    nodes.run_on(project, "a")
    leader.run()
    assert nodes.letting_pass(project) == {"a"}
    return project
