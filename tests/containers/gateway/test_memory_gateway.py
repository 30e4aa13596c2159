"""The gateway in memory answers the service like the real one."""

from ipaddress import IPv4Address

import pytest

from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.gateway.entries import Entry
from containers.gateway.protocol import GatewayClient, Standing
from containers.gateway.vocabulary import AgentsNetwork, GatewaySpec, Reach
from tests.fakes.engine import MemoryEngine

pytestmark = pytest.mark.one_database


@pytest.fixture
def engine() -> MemoryEngine:
    engine = MemoryEngine()
    engine.ensure_gateway(GatewaySpec(key="k"))
    return engine


@pytest.fixture
def client(engine: MemoryEngine) -> GatewayClient:
    return GatewayClient(engine.gateway())


def test_the_newest_version_counts(client: GatewayClient) -> None:
    assert client.ping() == 1
    assert client.apply(version=3, entries=[Entry(project="one", address=None)], void=["two"]) == {"one": 3, "two": 3}
    assert client.apply(version=2, void=["one"]) == {"one": 3}
    assert client.apply(version=3, void=["one"]) == {"one": 3}
    assert client.versions() == {"one": Standing(3, is_void=False), "two": Standing(3, is_void=True)}


def test_usage_is_read_once_and_totals_replace_each_other(engine: MemoryEngine, client: GatewayClient) -> None:
    engine.gateway_program.use("one", model="m", hour=5, input=3, requests=1)
    page = client.usage_since(0)
    assert [(row.project, row.hour, row.model, row.input, row.requests) for row in page.rows] == [("one", 5, "m", 3, 1)]
    engine.gateway_program.use("one", model="m", hour=5, output=4)
    later = client.usage_since(page.seq)
    assert [(row.input, row.output) for row in later.rows] == [(3, 4)]
    assert later.store == page.store
    nothing = client.usage_since(later.seq)
    assert (nothing.rows, nothing.seq) == ((), later.seq)


def test_sightings_are_lost_with_the_process(engine: MemoryEngine, client: GatewayClient) -> None:
    engine.gateway_program.see("one", telegram_status=401, telegram_since=5.0)
    assert client.look().sightings["one"].telegram_status == 401
    engine.stop_gateway()
    with pytest.raises(EngineUnavailableError):
        client.look()
    engine.ensure_gateway(GatewaySpec(key="k"))
    assert client.look().sightings == {}


def test_a_request_unknown_to_the_gateway_is_refused(client: GatewayClient) -> None:
    with pytest.raises(EngineRefusedError, match="knows"):
        client._ask("fly")


def test_addresses_of_agents_are_no_others() -> None:
    network = AgentsNetwork(subnet=MemoryEngine().agents_network().subnet)
    ranges = [network.for_engine, *(network.addresses(reach) for reach in Reach)]
    assert not any(one.overlaps(other) for one in ranges for other in ranges if one is not other)
    assert all(one.subnet_of(network.subnet) for one in ranges)
    assert network.host in network.for_engine
    assert network.gateway in network.for_engine
    for reach, other in ((Reach.INTERNET, Reach.GATEWAY), (Reach.GATEWAY, Reach.INTERNET)):
        allowed = network.addresses(reach)
        assert network.has(str(allowed[1]), reach)
        assert not network.has(str(allowed[1]), other)
        assert not network.has(str(allowed.network_address), reach)
        assert not network.has(str(allowed.broadcast_address), reach)
    for nothing in ("", "fd00::1", "10.0.0.300", str(IPv4Address(1))):
        assert not network.has(nothing, Reach.INTERNET)
