"""A Swarm's nodes get a gateway each, and another one of another image one after the other."""

from ipaddress import IPv4Address
from typing import Any

import pytest
from cryptography.fernet import Fernet

from containers.docker_api.client import Connection
from containers.errors import EngineUnavailableError
from containers.gateway.protocol import GatewayClient
from containers.gateway.words import GatewaySpec
from containers.swarm.gateway.node_gateways import NodeGateways
from containers.swarm.gateway.payload import NODE_LABEL
from tests.containers.swarm.manager import Manager, manager

pytestmark = pytest.mark.one_database
SPEC = GatewaySpec(key=Fernet.generate_key().decode())


def node(number: int) -> dict[str, Any]:
    return {
        "ID": f"n{number}",
        "Spec": {"Availability": "active", "Role": "worker"},
        "Status": {"State": "ready", "Addr": f"10.0.0.{number}"},
        "Description": {"Hostname": f"host{number}"},
    }


@pytest.fixture
def swarm(monkeypatch: pytest.MonkeyPatch) -> Any:
    with manager(monkeypatch) as found:
        found.rows["nodes"] = [node(1), node(2)]
        yield found


@pytest.fixture(autouse=True)
def silent(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The addresses of the nodes whose gateways do not answer."""
    found: set[str] = set()

    def is_ready(client: GatewayClient) -> bool:
        if client._transport._address[0] in found:  # type: ignore[attr-defined]  # that of the nodes' transport
            raise EngineUnavailableError("silent")
        return True

    monkeypatch.setattr(GatewayClient, "is_ready", is_ready)
    return found


def ensure(gateways: NodeGateways, image: str = "one") -> str:
    return gateways.ensure(SPEC, image=image, listens_at=IPv4Address("10.231.0.1"))


def images(swarm: Manager) -> dict[str, str]:
    """By nodes."""
    specs = [row["Spec"] for row in swarm.rows["services"]]
    return {each["Labels"][NODE_LABEL]: each["TaskTemplate"]["ContainerSpec"]["Image"] for each in specs}


def test_each_node_gets_one_with_a_certificate_of_its_own(swarm: Manager) -> None:
    gateways = NodeGateways(Connection())
    assert (ensure(gateways), ensure(gateways)) == ("", "")
    assert images(swarm) == {"n1": "one", "n2": "one"}
    names = [row["Spec"]["Name"] for row in swarm.rows["secrets"]]
    assert len(names) == len(set(names)) == 6


def test_a_node_that_joins_gets_one_and_that_of_a_forgotten_one_goes(swarm: Manager) -> None:
    gateways = NodeGateways(Connection())
    ensure(gateways)
    swarm.rows["nodes"] = [node(2), node(3)]
    ensure(gateways)
    assert images(swarm).keys() == {"n2", "n3"}
    assert {row["Spec"]["Labels"][NODE_LABEL] for row in swarm.rows["secrets"]} == {"n2", "n3"}


def test_another_image_goes_to_one_node_after_the_other(swarm: Manager, silent: set[str]) -> None:
    gateways = NodeGateways(Connection())
    ensure(gateways)
    assert ensure(gateways, "two") == ""
    assert images(swarm) == {"n1": "two", "n2": "one"}
    silent.add("10.0.0.1")
    assert "The gateway of host1 does not answer since it was changed." in ensure(gateways, "two")
    assert images(swarm) == {"n1": "two", "n2": "one"}
    silent.clear()
    ensure(gateways, "two")
    assert images(swarm) == {"n1": "two", "n2": "two"}


def test_none_is_left_where_nobody_needs_them(swarm: Manager) -> None:
    gateways = NodeGateways(Connection())
    ensure(gateways)
    gateways.remove()
    assert (swarm.rows["services"], swarm.rows["secrets"]) == ([], [])
