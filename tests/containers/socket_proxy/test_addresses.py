"""A network may have private addresses only, at most as many as Berth's networks, all in one block."""

from typing import Any

import pytest

from containers.docker.gateway import networks
from containers.docker.networks.agents import PREFIX
from containers.socket_proxy import bodies
from containers.socket_proxy.addresses import LARGEST, SMALLEST
from containers.socket_proxy.constants import Scope
from tests.containers.socket_proxy.kept_wire import NETWORK

pytestmark = pytest.mark.one_database


def is_made(pool: dict[str, Any]) -> bool:
    return bodies.network(Scope())({**NETWORK, "IPAM": {"Driver": "default", "Config": [pool]}}) is None


def test_the_sizes_match_the_networks_of_berth() -> None:
    assert min(networks._LARGEST, PREFIX) == LARGEST
    assert max(networks._EXIT_BITS, networks._SMALLEST + 1 + 2) == SMALLEST


@pytest.mark.parametrize(
    "pool",
    [
        {"Subnet": "172.31.0.0/21", "Gateway": "172.31.0.1", "IPRange": "172.31.0.0/23"},
        {"Subnet": "192.168.8.0/22", "Gateway": "192.168.8.1"}, {"Subnet": "10.1.2.8/29", "Gateway": "10.1.2.9"},
    ],
)  # fmt: skip
def test_private_networks_are_allowed(pool: dict[str, Any]) -> None:
    assert is_made(pool)


@pytest.mark.parametrize(
    "pool",
    [
        {}, {"Gateway": "10.0.0.1"}, {"Subnet": "8.8.8.0/24"}, {"Subnet": "127.0.0.0/24"}, {"Subnet": "0.0.0.0/0"},
        {"Subnet": "169.254.169.0/24"}, {"Subnet": "100.64.0.0/24"}, {"Subnet": "224.0.0.0/24"},
        {"Subnet": "10.0.0.0/8"}, {"Subnet": "172.16.0.0/12"}, {"Subnet": "192.168.0.0/20"}, {"Subnet": "10.0.0.0/30"},
        {"Subnet": "10.0.0.1/24"}, {"Subnet": "10.0.0.0/024"}, {"Subnet": "10.0.0.0/255.255.255.0"},
        {"Subnet": "10.0.0.0"}, {"Subnet": "fd00::/64"}, {"Subnet": None}, {"Subnet": 167772160},
        {"Subnet": "10.0.0.0/24", "Gateway": "8.8.8.8"}, {"Subnet": "10.0.0.0/24", "Gateway": "10.0.1.1"},
        {"Subnet": "10.0.0.0/24", "IPRange": "10.0.1.0/25"}, {"Subnet": "10.0.0.0/24", "IPRange": "10.0.0.0/23"},
        {"Subnet": "10.0.0.0/24", "AuxiliaryAddresses": {}},
    ],
)  # fmt: skip
def test_no_others_are(pool: dict[str, Any]) -> None:
    assert not is_made(pool)


@pytest.mark.parametrize("address", ["8.8.8.8", "127.0.0.1", "169.254.169.254", "0.0.0.0", "10.0.0.01", "1", 1, None])
def test_nothing_is_connected_elsewhere(address: object) -> None:
    asked = {"Container": "x", "EndpointConfig": {"IPAMConfig": {"IPv4Address": address}}}
    assert bodies.CONNECT(asked) is not None
