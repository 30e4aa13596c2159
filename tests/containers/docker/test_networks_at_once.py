"""The agents' networks, created by several servers at the same time, which are processes without a common lock."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from ipaddress import ip_network
from threading import Barrier
from typing import Any

import pytest

from containers.docker.engine import DockerEngine
from containers.docker.gateway.networks import ensure_agents_network, remove_networks
from containers.docker.networks import new_networks
from containers.docker.networks.agents import PREFIX, ensure_network
from containers.docker_api.client import Connection
from containers.identity import gateway_network_name, network_name
from tests.containers.docker_under_test import DockerUnderTest

pytestmark = [pytest.mark.docker, pytest.mark.one_database]
MAKERS, ROUNDS = 4, 2


@pytest.fixture
def at_once(docker_under_test: DockerUnderTest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list[Any]]]:
    """Each maker begins when all are there."""
    client = docker_under_test.client
    remove_all(client)
    monkeypatch.setattr(new_networks, "_one_at_a_time", nullcontext)
    start = Barrier(MAKERS)

    def run(make: Callable[[Connection], Any]) -> Any:
        connection = Connection()
        start.wait(60)
        return make(connection)

    with ThreadPoolExecutor(MAKERS) as pool:
        yield lambda make: list(pool.map(run, [make] * MAKERS))
    remove_all(client)


def remove_all(client: Any) -> None:
    """Another test may have left a gateway."""
    DockerEngine().remove_gateway(state=True)
    for each in client.networks(names=[network_name()]):
        client.remove_network(each["Id"])


def found(client: Any) -> list[tuple[str, int]]:
    """Returns the names of the networks, and the prefix length of their addresses."""
    rows = client.networks(names=[network_name()])
    return [(row["Name"], ip_network(row["IPAM"]["Config"][0]["Subnet"]).prefixlen) for row in rows]


def test_simultaneous_requests_create_one_agents_network_of_the_right_size(
    at_once: Callable[..., list[Any]], docker_under_test: DockerUnderTest
) -> None:
    client = docker_under_test.client
    for _ in range(ROUNDS):
        made = at_once(ensure_network)
        assert found(client) == [(network_name(), PREFIX)]
        assert made.count(True) == 1
        client.remove_network(network_name())


def test_simultaneous_requests_create_one_gateway_network(
    at_once: Callable[..., list[Any]], docker_under_test: DockerUnderTest
) -> None:
    for _ in range(ROUNDS):
        networks = at_once(ensure_agents_network)
        bits = networks[0].subnet.prefixlen
        assert found(docker_under_test.client) == [(gateway_network_name(), bits)]
        assert len(set(networks)) == 1
        remove_networks(Connection())
