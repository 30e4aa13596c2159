"""On and off: nothing restarts by itself, nothing is lost, and each agent changes at its next start."""

from collections.abc import Callable
from typing import Any

import pytest

from containers.errors import EngineUnavailableError
from projects.models import HourlyUsage, Project
from projects.watcher.gateway.upkeep import is_needed, look_after_gateway
from projects.watcher.reconcile.full import reconcile
from tests.canaries import CANARY_API_KEY, CANARY_OTHER_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.entries import counts_for, entry_of

pytestmark = pytest.mark.django_db
REAL = {"telegram_bot_token": CANARY_TELEGRAM_TOKEN, "agent_api_key": CANARY_API_KEY}
Control = Callable[..., Any]


def test_a_running_agent_gets_virtual_credentials_at_its_next_start(
    engine: MemoryEngine, without_gateway: Project, control: Control
) -> None:
    project = without_gateway
    container = engine.containers[project.container_name].container_id
    reconcile()
    look_after_gateway()
    assert engine.containers[project.container_name].container_id == container
    assert engine.secrets_of(project.container_name) == REAL
    control(project, "restart")
    assert counts_for(engine, project) == (True, True)


def test_an_agent_with_virtual_credentials_keeps_them_after_switching_off(
    engine: MemoryEngine, project: Project, control: Control, api: Any, settings: Any
) -> None:
    settings.BERTH_GATEWAY = False
    reconcile()
    look_after_gateway()
    assert is_needed()
    assert counts_for(engine, project) == (True, True)
    api.patch(f"/api/projects/{project.pk}", {"apiKey": CANARY_OTHER_API_KEY})
    assert entry_of(engine, project)["provider"]["key"] == CANARY_OTHER_API_KEY
    control(project, "restart")
    assert engine.secrets_of(project.container_name) == REAL | {"agent_api_key": CANARY_OTHER_API_KEY}
    spec = engine.containers[project.container_name].spec
    assert spec is not None
    assert (spec.address, spec.environment["TELEGRAM_API_BASE"]) == (None, "https://api.telegram.org")


def test_virtual_credentials_are_void_once_the_last_agent_has_real_ones(
    engine: MemoryEngine, project: Project, control: Control, settings: Any
) -> None:
    settings.BERTH_GATEWAY = False
    control(project, "restart")
    assert entry_of(engine, project) is None
    engine.gateway_program.use(str(project.pk), messages=3)
    assert not is_needed()
    look_after_gateway()
    assert engine.gateway_container is None
    assert HourlyUsage.objects.get().messages == 3
    engine.calls.clear()
    look_after_gateway()
    assert engine.calls == [], "It costs nothing any more."


def test_missed_entries_are_sent_before_the_gateway_is_removed(
    engine: MemoryEngine, project: Project, control: Control, settings: Any
) -> None:
    settings.BERTH_GATEWAY = False
    engine.fail("gateway", EngineUnavailableError)
    control(project, "restart")
    assert entry_of(engine, project) is not None
    look_after_gateway()
    assert entry_of(engine, project) is None
    assert engine.gateway_container is None


def test_back_on_everything_is_as_before(
    engine: MemoryEngine, project: Project, control: Control, settings: Any
) -> None:
    before = engine.secrets_of(project.container_name), project.address
    settings.BERTH_GATEWAY = False
    control(project, "restart")
    settings.BERTH_GATEWAY = True
    control(project, "restart")
    assert (engine.secrets_of(project.container_name), Project.objects.get().address) == before
    assert counts_for(engine, project) == (True, True)
