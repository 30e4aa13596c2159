"""An agent that cannot have its address gets another one, by itself."""

from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from containers.errors import AddressUnusableError
from containers.gateway.vocabulary import AgentsNetwork, Reach
from projects.models import Project
from projects.services.commands.start_and_stop import ADDRESSES
from projects.watcher.gateway.upkeep import look_after_gateway
from projects.watcher.reconcile.full import reconcile
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.entries import counts_for, entry_of, knows

pytestmark = pytest.mark.django_db
Control = Callable[..., Any]
OTHER = IPv4Network("10.77.0.0/16")


def another_network(engine: MemoryEngine, project: Project) -> str:
    """The service does not know yet: its knowledge of the gateway's place is a moment old."""
    engine.subnet = OTHER
    return str(project.address)


def somebody_at_it(engine: MemoryEngine, project: Project) -> str:
    engine.taken.add(str(project.address))
    return str(project.address)


SPOIL = [another_network, somebody_at_it]
Spoil = Callable[[MemoryEngine, Project], str]


def is_well(engine: MemoryEngine, project: Project, former: str) -> None:
    """Whether it runs at an address of its own, by which the gateway knows it."""
    project.refresh_from_db()
    container = engine.containers[project.container_name]
    assert project.failure_code == ""
    assert container.is_up
    assert container.spec is not None
    assert container.spec.address == project.address == entry_of(engine, project)["address"]
    assert project.address != former
    assert AgentsNetwork(subnet=engine.subnet).has(str(project.address), Reach.INTERNET)
    assert knows(engine, project)
    assert counts_for(engine, project) == (True, True)


@pytest.mark.parametrize("spoil", SPOIL)
@pytest.mark.parametrize("verb", ["start", "restart"])
def test_at_a_start(engine: MemoryEngine, project: Project, control: Control, spoil: Spoil, verb: str) -> None:
    if verb == "start":
        control(project, "stop")
    former = spoil(engine, project)
    assert control(project, verb).json()["status"] == "running"
    is_well(engine, project, former)


@pytest.mark.parametrize("spoil", SPOIL)
def test_after_a_crash(engine: MemoryEngine, project: Project, spoil: Spoil) -> None:
    former = spoil(engine, project)
    engine.crash(project.container_name, exit_code=1)
    reconcile()
    is_well(engine, project, former)


@pytest.mark.parametrize("spoil", SPOIL)
def test_a_vanished_container_gets_another_address_if_its_own_is_taken(
    engine: MemoryEngine, project: Project, spoil: Spoil
) -> None:
    former = spoil(engine, project)
    engine.vanish(project.container_name)
    reconcile()
    is_well(engine, project, former)


@pytest.mark.parametrize("spoil", SPOIL)
def test_a_running_container_removed_from_its_network_gets_an_address_again(
    engine: MemoryEngine, project: Project, spoil: Spoil
) -> None:
    former = spoil(engine, project)
    engine.drift(project.container_name)
    reconcile()
    is_well(engine, project, former)
    before = engine.containers[project.container_name].container_id
    reconcile()
    assert engine.containers[project.container_name].container_id == before


def test_a_new_project_does_not_get_a_used_address(
    engine: MemoryEngine, project: Project, deploy: Callable[..., Project]
) -> None:
    following = str(IPv4Address(str(project.address)) + 1)
    engine.taken.add(following)
    other = deploy(telegramToken="555:another-bot")
    assert other.address not in {following, project.address}
    is_well(engine, other, following)


def test_if_every_address_is_refused_the_owner_is_told_and_the_next_start_tries_others(
    engine: MemoryEngine, project: Project, control: Control
) -> None:
    engine.fail("deploy", AddressUnusableError, times=ADDRESSES)
    assert control(project, "restart").status_code >= 400
    project.refresh_from_db()
    assert project.failure_code == "engine_refused"
    assert control(project, "restart").status_code == 200
    is_well(engine, project, "")


def test_a_crashed_agent_from_before_the_gateway_is_recreated(engine: MemoryEngine, without_gateway: Project) -> None:
    """Virtual credentials in a container that talks to Telegram itself would end it."""
    project = without_gateway
    engine.crash(project.container_name, exit_code=1)
    reconcile()
    look_after_gateway()
    is_well(engine, project, "")
    spec = engine.containers[project.container_name].spec
    assert spec is not None
    assert spec.environment["TELEGRAM_API_BASE"].startswith("http://172.30.0.2:8080/")


def test_an_agent_that_crashes_after_switching_off_is_recreated(
    engine: MemoryEngine, project: Project, settings: Any
) -> None:
    settings.BERTH_GATEWAY = False
    engine.crash(project.container_name, exit_code=1)
    reconcile()
    project.refresh_from_db()
    assert not project.is_behind_gateway
    assert entry_of(engine, project) is None
    real = {"telegram_bot_token": CANARY_TELEGRAM_TOKEN, "agent_api_key": CANARY_API_KEY}
    assert engine.secrets_of(project.container_name) == real
    spec = engine.containers[project.container_name].spec
    assert spec is not None
    assert (spec.address, spec.environment["TELEGRAM_API_BASE"]) == (None, "https://api.telegram.org")
