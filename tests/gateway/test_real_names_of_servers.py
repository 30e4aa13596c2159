"""Tool servers by their names, which a real name server resolves for the gateway in its container."""

from collections.abc import Iterator

import pytest

from containers.gateway.entries import ServerEntry, ServersEntry, new_virtual_pass
from containers.programs import is_root
from tests.canaries import CANARY_API_KEY, find_canary
from tests.containers.firewall.fake_internet import NEAR_END, fake_internet
from tests.containers.firewall.test_firewall import can_filter
from tests.engines import address_of_host
from tests.fakes.web import FakeWeb
from tests.gateway.name_server import names
from tests.gateway.on_engine import DeployedAgent, GatewayTestbed

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.skipif(not is_root(), reason="takes the right to set firewall rules"),
    can_filter,
]

HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}


@pytest.fixture
def web() -> Iterator[FakeWeb]:
    """At an address of the public internet, which is this machine's end of the exit network."""
    with fake_internet(), FakeWeb(NEAR_END) as fake:
        fake.logins = {"/mcp": f"authorization: Bearer {CANARY_API_KEY}"}
        yield fake


def test_a_server_is_resolved_by_name_and_asked_with_a_credential_that_the_agent_never_has(
    testbed: GatewayTestbed, deployed: DeployedAgent, web: FakeWeb
) -> None:
    hosts, header = ("tools", "near", "missing"), {"header": "authorization", "value": f"Bearer {CANARY_API_KEY}"}
    servers = [ServerEntry(base=f"http://{host}.example.org:{web.port}/mcp", **header) for host in hosts]
    deployed.servers = ServersEntry(virtual=new_virtual_pass(), servers=tuple(servers))
    testbed.tell(deployed)
    ways = deployed.servers.ways(testbed.address.url)
    try:
        with names(tools=NEAR_END, near=address_of_host()):
            told, near, missing = (testbed.ask_from(deployed, ways[each.base], body=HELLO) for each in servers)
    finally:
        deployed.servers = None
        testbed.tell(deployed)
    assert told.startswith("200 ")
    assert "tides" in told
    assert (near[:4], missing[:4]) == ("502 ", "502 ")
    assert len(web.requests) == 1
    assert find_canary(told + near + missing + str(testbed.client.inspect_container(deployed.name))) is None
