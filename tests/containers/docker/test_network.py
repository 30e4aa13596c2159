"""The agents' network: how large it is, and what may already exist of it."""

from ipaddress import ip_network
from typing import Any

import pytest

from containers.docker.networks import agents as network
from containers.docker.networks.agents import PREFIX, ensure_network
from containers.docker_api.client import Connection
from containers.identity import exit_network_name, gateway_network_name, network_name, own_labels
from tests.containers.docker_under_test import DockerUnderTest
from tests.containers.engine_fixtures import deploy

pytestmark = [pytest.mark.docker, pytest.mark.one_database]


@pytest.fixture
def client(docker_under_test: DockerUnderTest) -> Any:
    """The client of an engine that has no network of ours."""
    if docker_under_test.client.networks(names=[f"^{network_name()}$"]):
        docker_under_test.client.remove_network(network_name())
    return docker_under_test.client


def subnet_of(client: Any) -> Any:
    return ip_network(client.inspect_network(network_name())["IPAM"]["Config"][0]["Subnet"])


def names_of(client: Any) -> set[str]:
    """Returns the names of our networks except the gateway's, which other tests may have left."""
    others = {gateway_network_name(), exit_network_name()}
    return {each["Name"] for each in client.networks(names=[network_name()])} - others


def test_the_network_has_as_many_addresses_as_a_bridge_has_ports(client: Any) -> None:
    assert ensure_network(Connection())
    assert subnet_of(client).prefixlen == PREFIX
    assert 1000 < subnet_of(client).num_addresses - 3 < 1024
    assert names_of(client) == {network_name()}
    assert not ensure_network(Connection())


def test_an_existing_larger_network_is_kept(docker_under_test: DockerUnderTest, client: Any) -> None:
    client.create_network(**own_network())
    before = client.inspect_network(network_name())
    assert subnet_of(client).prefixlen < PREFIX
    deploy(docker_under_test)
    assert client.inspect_network(network_name())["Id"] == before["Id"]
    docker_under_test.engine.remove(docker_under_test.key, volumes=True)
    client.remove_network(network_name())


def own_network() -> dict[str, Any]:
    """Our network as Berth created it earlier."""
    made = network.agents_network_payload()
    return {"name": made["Name"], "driver": "bridge", "options": made["Options"], "labels": made["Labels"]}


def test_a_trial_network_left_by_a_killed_process_is_used_and_removed(client: Any) -> None:
    client.create_network(f"{network_name()}-trial", labels=own_labels())
    assert ensure_network(Connection())
    assert names_of(client) == {network_name()}
    assert subnet_of(client).prefixlen == PREFIX


def test_if_its_addresses_are_taken_others_of_the_same_size_are_found(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example by another server that is about to create this network with the same addresses."""
    taken = client.inspect_network("bridge")["IPAM"]["Config"][0]["Subnet"]
    find, answers = network._find_subnet, [taken]
    monkeypatch.setattr(network, "_find_subnet", lambda engine: answers.pop() if answers else find(engine))
    assert ensure_network(Connection())
    assert not subnet_of(client).overlaps(ip_network(taken))
    assert subnet_of(client).prefixlen == PREFIX
    client.remove_network(network_name())
