"""Two installations on one Swarm: if both want the same port or addresses, one of them is refused."""

from copy import deepcopy
from ipaddress import IPv4Address
from typing import Any

import pytest
from django.test import override_settings

from containers.docker_api.client import Connection
from containers.errors import EngineRefusedError
from containers.firewall.node_script import CONFIG
from containers.identity import gateway_network_name, network_name
from containers.swarm.gateway.conflicts import require_own_addresses
from containers.swarm.gateway.image_availability import ImageAvailability
from containers.swarm.gateway.node_gateways import NodeGateways
from containers.swarm.gateway.payload import LABEL
from tests.containers.swarm.manager import Manager, manager
from tests.containers.swarm.test_node_gateways import SPEC, node

pytestmark = pytest.mark.one_database


@pytest.fixture
def swarm(monkeypatch: pytest.MonkeyPatch) -> Any:
    with manager(monkeypatch) as found:
        found.rows |= {"nodes": [node(1)], "services": []}
        yield found


def ensure() -> None:
    wanted = ImageAvailability(name="one")
    NodeGateways(Connection()).ensure(SPEC, image=wanted, listens_at=IPv4Address("10.231.0.1"))


def names(swarm: Manager) -> list[str]:
    return [row["Spec"]["Labels"][LABEL] for row in swarm.rows["services"]]


def ports(swarm: Manager) -> set[str]:
    found = [row["Spec"]["TaskTemplate"]["ContainerSpec"]["Env"] for row in swarm.rows["services"]]
    return {each for env in found for each in env if each.startswith("GATEWAY_CONTROL_PORT=")}


@pytest.mark.parametrize("other", [{"BERTH_INSTANCE": "other"}, {"BERTH_INSTALLATION_SOURCE": f"{__name__}.another"}])
def test_gateways_of_a_second_installation_need_another_port(swarm: Manager, other: dict[str, str]) -> None:
    """Even if it has the same name, such as a copy of the first."""
    ensure()
    there = swarm.rows["services"][:]
    with override_settings(**other):
        with pytest.raises(EngineRefusedError, match=r"the port 8443\. Set BERTH_SWARM_GATEWAY_PORT"):
            ensure()
        assert swarm.rows["services"] == there
        with override_settings(BERTH_SWARM_GATEWAY_PORT=8444):
            swarm.rows["nodes"] = [node(2)]  # which has another name in its services
            ensure()
    assert (len(names(swarm)), ports(swarm)) == (2, {"GATEWAY_CONTROL_PORT=8443", "GATEWAY_CONTROL_PORT=8444"})


def test_of_two_gateways_created_at_the_same_time_the_first_continues(swarm: Manager) -> None:
    ensure()
    with override_settings(BERTH_INSTANCE="other", BERTH_SWARM_GATEWAY_PORT=8444):
        ensure()
    later = swarm.rows["services"][1]
    later["CreatedAt"] = "2026-01-02T00:00:00Z"
    later["Spec"]["TaskTemplate"]["ContainerSpec"]["Env"] = ["GATEWAY_CONTROL_PORT=8443"]
    ensure()
    with override_settings(BERTH_INSTANCE="other"), pytest.raises(EngineRefusedError, match="another installation"):
        ensure()


def test_an_older_installation_does_not_move_to_the_port_of_a_younger_one(swarm: Manager) -> None:
    ensure()
    with override_settings(BERTH_INSTANCE="other", BERTH_SWARM_GATEWAY_PORT=8444):
        ensure()
    swarm.rows["services"][1]["CreatedAt"] = "2026-01-02T00:00:00Z"
    before = deepcopy(swarm.rows["services"])
    with override_settings(BERTH_SWARM_GATEWAY_PORT=8444), pytest.raises(EngineRefusedError, match="8444"):
        ensure()
    assert swarm.rows["services"] == before
    with override_settings(BERTH_INSTANCE="other", BERTH_SWARM_GATEWAY_PORT=8444):
        ensure()


@pytest.mark.parametrize(
    ("subnet", "is_taken"),
    [
        ("10.231.8.0/21", True),
        ("10.231.15.9/24", True),
        ("10.0.0.0/8", True),
        ("10.232.0.0/20", False),
        ("fd00::/64", False),
    ],
)
def test_agents_get_no_addresses_that_a_network_of_others_has(swarm: Manager, subnet: str, *, is_taken: bool) -> None:
    own = [{"Name": f"{name}{CONFIG}"} for name in (network_name(), gateway_network_name())]
    swarm.rows["networks"] = [{**each, "IPAM": {"Config": [{"Subnet": "10.231.0.0/21"}]}} for each in own]
    swarm.rows["networks"] += [{"Name": "host", "IPAM": {"Config": None}}, {"Name": "none"}]
    require_own_addresses(Connection())
    swarm.rows["networks"].append({"Name": "other-1234-config", "IPAM": {"Config": [{"Subnet": subnet}]}})
    if is_taken:
        with pytest.raises(EngineRefusedError, match=r"The network other-1234-config uses .* Set BERTH_SWARM_SUBNET"):
            require_own_addresses(Connection())
    else:
        require_own_addresses(Connection())


def another() -> str:
    return "another-installation"
