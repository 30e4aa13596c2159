"""The gateway, its network and the addresses of agents on it, on every engine."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from cryptography.fernet import Fernet
from django.conf import settings

from containers.docker.gateway import containers as docker_gateways
from containers.errors import AddressUnusableError, EngineUnavailableError, GatewaySilentError, ImageMissingError
from containers.gateway.entries import Entry
from containers.gateway.protocol import GatewayClient, Standing
from containers.gateway.vocabulary import GatewaySpec, Reach
from containers.vocabulary import INSTANCE_LABEL, ContainerState
from tests.containers.engine_fixtures import EngineUnderTest, deploy, make_spec, yes

PATIENCE = 100.0


@pytest.fixture
def spec() -> GatewaySpec:
    return GatewaySpec(key=Fernet.generate_key().decode())


@pytest.fixture
def client(with_gateway: EngineUnderTest) -> GatewayClient:
    return GatewayClient(with_gateway.engine.gateway(), within=PATIENCE)


def test_without_a_gateway_requests_fail(with_gateway: EngineUnderTest, client: GatewayClient) -> None:
    assert with_gateway.engine.inspect_gateway() is None
    with_gateway.engine.remove_gateway()
    with pytest.raises(EngineUnavailableError):
        client.ping()


def test_repeated_requests_start_one_gateway(
    with_gateway: EngineUnderTest, spec: GatewaySpec, client: GatewayClient
) -> None:
    engine = with_gateway.engine
    address = engine.ensure_gateway(spec)
    first = engine.inspect_gateway()
    assert engine.ensure_gateway(spec) == address
    again = engine.inspect_gateway()
    assert first
    assert again
    assert first.state is ContainerState.RUNNING
    assert first.container_id == again.container_id
    assert first.has_drifted is False
    assert client.ping() == 1
    network = engine.find_agents_network()
    assert network == engine.agents_network()
    assert network is not None
    assert address.host == str(network.gateway)
    # It is not an agent.
    assert engine.observe({INSTANCE_LABEL: settings.BERTH_INSTANCE}, others=True) == []
    assert engine.list_volumes({}) == []


def test_simultaneous_requests_start_one_gateway(
    with_gateway: EngineUnderTest, spec: GatewaySpec, client: GatewayClient
) -> None:
    """The watcher and deploys, in several processes."""
    engine = with_gateway.engine
    with ThreadPoolExecutor(4) as threads:
        for wanted in (spec, replace(spec, environment=(("GATEWAY_GRACE", "5"),))):
            addresses = list(threads.map(engine.ensure_gateway, [wanted] * 4))
            assert addresses == [engine.ensure_gateway(wanted)] * 4
            assert client.ping() == 1
    found = engine.inspect_gateway()
    assert found
    assert with_gateway.gateways() == [found.container_id]


def test_a_successor_takes_over_with_the_same_entries(
    with_gateway: EngineUnderTest, spec: GatewaySpec, client: GatewayClient
) -> None:
    engine = with_gateway.engine
    engine.ensure_gateway(spec)
    first = engine.inspect_gateway()
    assert client.apply(version=7, entries=[Entry(project="one", address="10.1.2.3")]) == {"one": 7}
    engine.ensure_gateway(replace(spec, environment=(("GATEWAY_GRACE", "5"),)))
    second = engine.inspect_gateway()
    assert first
    assert second
    assert first.container_id != second.container_id
    assert client.versions() == {"one": Standing(7, is_void=False)}


def test_a_gateway_stopped_by_hand_is_started(
    with_gateway: EngineUnderTest, spec: GatewaySpec, client: GatewayClient
) -> None:
    with_gateway.engine.ensure_gateway(spec)
    client.apply(version=1, void=["one"])
    with_gateway.stop_gateway()
    with pytest.raises(EngineUnavailableError):
        client.ping()
    with_gateway.engine.ensure_gateway(spec)
    assert client.versions() == {"one": Standing(1, is_void=True)}


def test_without_its_image_the_running_gateway_continues(
    with_gateway: EngineUnderTest, spec: GatewaySpec, client: GatewayClient
) -> None:
    missing = replace(spec, image="berth-test/nowhere:latest")
    with pytest.raises(ImageMissingError):
        with_gateway.engine.ensure_gateway(missing)
    with_gateway.engine.ensure_gateway(spec)
    with_gateway.engine.ensure_gateway(missing)
    assert client.ping() == 1


def test_the_running_gateway_continues_if_its_successor_does_not_start(
    with_gateway: EngineUnderTest, spec: GatewaySpec, client: GatewayClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker_gateways, "ANSWERS_WITHIN", 0.5)
    engine, broken = with_gateway.engine, replace(spec, environment=(("GATEWAY_GRACE", "never"),))
    with pytest.raises(GatewaySilentError):
        engine.ensure_gateway(broken)
    engine.remove_gateway()
    monkeypatch.undo()
    address = engine.ensure_gateway(spec)
    before = engine.inspect_gateway()
    monkeypatch.setattr(docker_gateways, "ANSWERS_WITHIN", 0.5)
    for _ in range(2):
        found = engine.ensure_gateway(broken)
        assert (replace(found, warning=""), "continues" in found.warning) == (address, True)
    after = engine.inspect_gateway()
    assert before is not None
    assert after is not None
    assert (after.container_id, after.started_at) == (before.container_id, before.started_at)
    assert client.ping() == 1
    monkeypatch.undo()
    assert engine.ensure_gateway(spec) == address
    assert with_gateway.gateways() == [before.container_id]


def test_the_gateway_s_volumes_are_kept_until_they_are_removed_too(
    with_gateway: EngineUnderTest, spec: GatewaySpec, client: GatewayClient
) -> None:
    engine = with_gateway.engine
    engine.ensure_gateway(spec)
    client.apply(version=1, void=["one"])
    engine.remove_gateway()
    assert engine.inspect_gateway() is None
    engine.ensure_gateway(spec)
    assert client.versions() == {"one": Standing(1, is_void=True)}
    engine.remove_gateway(state=True)
    engine.ensure_gateway(spec)
    assert client.versions() == {}


@pytest.mark.parametrize("reach", Reach)
def test_an_agent_has_the_address_of_its_project(with_gateway: EngineUnderTest, reach: Reach) -> None:
    network = with_gateway.engine.agents_network()
    address = str(network.addresses(reach)[5])
    deploy(with_gateway, address=address, reach=reach)
    assert with_gateway.address_of(with_gateway.name) == address
    found = with_gateway.engine.inspect(with_gateway.key)
    assert found
    assert found.has_drifted is False
    # The next container has it, too.
    deploy(with_gateway, address=address, reach=reach, generation=2)
    assert with_gateway.address_of(with_gateway.name) == address


def test_an_address_of_another_network_or_reach_is_refused(with_gateway: EngineUnderTest) -> None:
    network = with_gateway.engine.agents_network()
    wrong = [str(network.addresses(Reach.GATEWAY)[5]), str(network.gateway), "10.99.99.99", "", "fd00::5"]
    for address in wrong:
        with pytest.raises(AddressUnusableError, match="address"):
            with_gateway.engine.deploy(make_spec(with_gateway, address=address), confirm=yes)
    assert with_gateway.id_of(with_gateway.name) is None


def test_an_address_that_another_has_is_refused_and_leaves_nothing(with_gateway: EngineUnderTest) -> None:
    address = str(with_gateway.engine.agents_network().addresses(Reach.INTERNET)[7])
    deploy(with_gateway, address=address)
    other = make_spec(with_gateway, key=f"{with_gateway.key[:-4]}beef", address=address)
    with pytest.raises(AddressUnusableError):
        with_gateway.engine.deploy(other, confirm=yes)
    assert with_gateway.id_of(other.name) is None


def test_an_ended_container_with_another_address_is_recreated(with_gateway: EngineUnderTest) -> None:
    """Started as it is, it would have the old address: without the gateway, or where no firewall confines it."""
    addresses = with_gateway.engine.agents_network().addresses(Reach.INTERNET)
    deploy(with_gateway)
    for address in (str(addresses[8]), str(addresses[9]), None):
        before = with_gateway.id_of(with_gateway.name)
        with_gateway.engine.stop(with_gateway.key, timeout=1)
        deploy(with_gateway, address=address)
        assert with_gateway.id_of(with_gateway.name) != before
        if address:
            assert with_gateway.address_of(with_gateway.name) == address
        with_gateway.engine.stop(with_gateway.key, timeout=1)
        again = with_gateway.id_of(with_gateway.name)
        deploy(with_gateway, address=address)
        assert with_gateway.id_of(with_gateway.name) == again
