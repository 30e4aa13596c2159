"""An agent that tries to reach what is near: other agents, this machine, private networks, cloud metadata."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import pytest

from containers.docker.gateway.egress import Egress
from containers.firewall.bridge import bridge_name
from containers.firewall.iptables import apply_rules, remove_rules
from containers.programs import is_root
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.security.agents import Agents
from tests.security.inside.doors import PORT
from tests.security.network_targets import (
    METADATA,
    METADATA_6,
    PRIVATE,
    ROUTED,
    THIS_MACHINE,
    Namespace,
    all_targets,
    namespace_on_bridge,
)
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(
        not (is_root() and all(map(shutil.which, ("iptables", "ip", "nsenter")))), reason="takes root, iptables and ip"
    ),
]
PRIVATE_NETWORKS = {
    "another agent": "peer",
    "a container of another network": "other",
    "this machine, as the gateway": "gateway",
    "this machine, as the gateway, by UDP": "gateway",
    "this machine, on the engine's own bridge": "docker0",
    "this machine, on its own network": "own",
    "a port that another container publishes": "published",
    "cloud metadata": "metadata",
    "cloud metadata by IPv6": "metadata6",
    "a private address of this machine": "private here",
    "a private network behind this machine": "private",
    "a carrier's network behind this machine": "carrier",
    "a laboratory's network behind this machine": "benchmark",
}
PUBLISHED = 8198


@dataclass
class Surroundings:
    """The doors around an agent, and the results of the agent and of permitted callers."""

    doors: dict[str, tuple[str, int, str]]
    said_to_agent: dict[str, str]
    behind: Namespace


@pytest.fixture(scope="module")
def surroundings(agents: Agents) -> Iterator[Surroundings]:
    peer = agents.deploy("door").name
    other_network = f"{agents.instance}-other"
    agents.client.create_network(other_network, driver="bridge", check_duplicate=True)
    other = agents.run_unconfined("door", network_mode=other_network)
    published = agents.run_unconfined("door", ports=[PORT], port_bindings={PORT: PUBLISHED})
    addresses = {
        "peer": agents.address_of(peer),
        "other": agents.address_of(other, other_network),
        "gateway": agents.gateway(),
        "docker0": bridge_address(agents),
        "own": own_address(),
        "published": agents.gateway(),
        "metadata": METADATA,
        "metadata6": METADATA_6,
        "private here": PRIVATE,
        **ROUTED,
    }
    doors = {
        name: (addresses[whose], PUBLISHED if whose == "published" else PORT, "udp" if "UDP" in name else "tcp")
        for name, whose in PRIVATE_NETWORKS.items()
    }
    doors["the internet"] = (ROUTED["public"], PORT, "tcp")
    for name in (peer, other, published):
        agents.found_by(name)
    with all_targets() as behind:
        said = knock_from_inside(agents, doors)
        yield Surroundings(doors, said, behind)
    agents.remove_all()


def knock_from_inside(agents: Agents, doors: dict[str, Any]) -> dict[str, str]:
    name = agents.deploy("knock", environment={"DOORS": json.dumps(doors)}).name
    said: dict[str, str] = agents.found_by(name)
    return said


def bridge_address(agents: Agents) -> str:
    shown = subprocess.run(["ip", "-4", "-o", "addr", "show", "docker0"], capture_output=True, text=True, check=True)
    return shown.stdout.split()[3].partition("/")[0]


def own_address() -> str:
    """Returns the address under which others on its network know this machine."""
    command = ["ip", "-4", "-o", "addr", "show", "scope", "global"]
    shown = subprocess.run(command, capture_output=True, check=True, text=True)
    lines = [line.split() for line in shown.stdout.splitlines()]
    own = [line[3] for line in lines if not line[1].startswith(("docker", "br-", "berth-", "veth", "sec"))]
    return own[0].partition("/")[0]


@contextmanager
def without_rules(agents: Agents) -> Iterator[None]:
    """Removes the rules as if Berth had no firewall, because a deploy would restore them."""
    with agents.settings(), patch.object(Egress, "require"):
        remove_rules()
        try:
            yield
        finally:
            assert apply_rules() is None


@pytest.mark.parametrize("door", PRIVATE_NETWORKS)
def test_an_agent_does_not_reach_private_addresses(surroundings: Surroundings, door: str) -> None:
    assert surroundings.said_to_agent[door] != "hello"


@pytest.mark.parametrize("door", [door for door in PRIVATE_NETWORKS if door != "another agent"])
def test_a_container_without_the_rules_reaches_them(surroundings: Surroundings, door: str) -> None:
    """This shows that the doors are open, and that the agent was kept away from them."""
    assert THIS_MACHINE.reaches(*surroundings.doors[door])


def test_an_agent_reaches_the_internet(surroundings: Surroundings) -> None:
    assert surroundings.said_to_agent["the internet"] == "hello"


def test_the_firewall_rules_confine_the_agent(agents: Agents, surroundings: Surroundings) -> None:
    """Without them it reaches this machine, private networks and the metadata, so the attempts are valid."""
    with without_rules(agents):
        said = knock_from_inside(agents, surroundings.doors)
        # With them agents do not even answer this machine.
        assert THIS_MACHINE.reaches(*surroundings.doors["another agent"])
    reached = {door for door, answer in said.items() if answer == "hello"}
    # Docker itself keeps networks apart, and agents too (no ICC); it gives them no IPv6.
    kept = {"another agent", "a container of another network", "cloud metadata by IPv6"}
    assert reached == surroundings.doors.keys() - kept
    after = knock_from_inside(agents, surroundings.doors)
    assert {door for door, answer in after.items() if answer == "hello"} == {"the internet"}


def test_an_agent_that_had_ipv6_would_not_reach_metadata_either(agents: Agents, surroundings: Surroundings) -> None:
    with agents.settings(), namespace_on_bridge(bridge_name(), "fd00:213::2", "fd00:213::1") as place:
        assert not place.reaches(METADATA_6)
        assert not place.reaches("fd00:213::1")
        with without_rules(agents):
            wait_until(lambda: place.reaches("fd00:213::1"), within=60)
            assert place.reaches(METADATA_6)
        assert not place.reaches(METADATA_6)


def test_only_listed_exceptions_are_reached(agents: Agents, surroundings: Surroundings) -> None:
    gateway = agents.gateway()
    with FakeTelegram(host=gateway) as telegram, FakeProvider(host=gateway) as provider:
        telegram.add_bot(CANARY_TELEGRAM_TOKEN)
        provider.add_key(CANARY_API_KEY)
        doors = {"telegram": (gateway, telegram.port, "http"), "provider": (gateway, provider.port, "http")}
        closed = knock_from_inside(agents, doors | surroundings.doors)
        agents.allow = [(f"{gateway}/32", telegram.port), (f"{gateway}/32", provider.port)]
        with agents.settings():
            assert apply_rules() is None
        opened = knock_from_inside(agents, doors | surroundings.doors)
        agents.allow = []
        with agents.settings():
            assert apply_rules() is None
    for name in doors:
        assert not closed[name].startswith("HTTP/1.")
        assert opened[name].startswith("HTTP/1.")
    assert {door for door in surroundings.doors if opened[door] == "hello"} == {"the internet"}
