"""Where agents behind the gateway, and the gateway itself, can send packets: with real packets, on a real engine."""

from collections.abc import Iterator

import pytest
from django.test import override_settings

from containers.gateway.vocabulary import PORT, Reach
from containers.identity import exit_network_name
from containers.programs import is_root
from tests.containers.firewall.fake_internet import fake_internet, listener
from tests.containers.firewall.test_firewall import can_filter
from tests.containers.inside import run_inside
from tests.engines import address_of_host
from tests.gateway.name_server import names
from tests.gateway.on_engine import PATIENCE, DeployedAgent, GatewayTestbed
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.skipif(not is_root(), reason="takes the right to set firewall rules"),
    can_filter,
]

DOOR = 8181
TUNNEL = """\
import socket, sys
gateway, port, target = sys.argv[1:]
with socket.create_connection((gateway, int(port)), 20) as connection:
    connection.sendall(f"CONNECT {target} HTTP/1.1\\r\\nHost: {target}\\r\\n\\r\\n".encode())
    came = b""
    while b"\\r\\n\\r\\n" not in came:
        came += connection.recv(1000) or b"\\r\\n\\r\\n"
    if came.split()[1] == b"200":
        came += connection.recv(1000)
    elif b"This agent may not reach that host." in came + connection.recv(1000):
        came += b"words"
    print(came.split()[1].decode(), came[-6:])
"""
CONNECT = """\
import socket, sys
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), 3) as connection:
        print("reached", connection.getpeername()[0])
except OSError as error:
    print(type(error).__name__, error)
"""
LISTEN = "import socket; door = socket.create_server(('0.0.0.0', 8181), backlog=64); import time; time.sleep(600)"


@pytest.fixture
def free(deployed: DeployedAgent) -> DeployedAgent:
    return deployed


@pytest.fixture(scope="module")
def other(testbed: GatewayTestbed, neighbour: DeployedAgent) -> DeployedAgent:
    """A server listens at its address."""
    made = testbed.client.exec_create(neighbour.name, ["/opt/agent/bin/python3", "-c", LISTEN])
    testbed.client.exec_start(made["Id"], detach=True)
    wait_until(lambda: "reached" in connect(testbed, neighbour.name, "127.0.0.1"), within=PATIENCE)
    return neighbour


@pytest.fixture(scope="module")
def alone(testbed: GatewayTestbed) -> DeployedAgent:
    return testbed.settle(Reach.GATEWAY)


@pytest.fixture(scope="module")
def public() -> Iterator[str]:
    """An address of the public internet. Servers also listen at all addresses of this machine."""
    with fake_internet() as address, listener():
        yield address


def tunnel(testbed: GatewayTestbed, agent: DeployedAgent, target: str) -> str:
    words = (testbed.address.host, str(PORT), target)
    return run_inside(testbed.client, agent.name, "/opt/agent/bin/python3", "-c", TUNNEL, *words)[1]


def connect(testbed: GatewayTestbed, container: str, address: str, port: int = DOOR) -> str:
    python = "/opt/gateway/bin/python3" if "-gateway-" in container else "/opt/agent/bin/python3"
    return run_inside(testbed.client, container, python, "-c", CONNECT, address, str(port))[1]


def gateway_of(testbed: GatewayTestbed) -> tuple[str, str]:
    """The name of the gateway's container, and its address in the exit network."""
    found = testbed.engine.inspect_gateway()
    assert found
    ends = testbed.client.inspect_container(found.name)["NetworkSettings"]["Networks"]
    return found.name, ends[exit_network_name()]["IPAddress"]


def near(testbed: GatewayTestbed) -> list[str]:
    """Addresses of this machine at which a server listens."""
    exits = testbed.client.inspect_network(exit_network_name())["IPAM"]["Config"][0]
    return [str(testbed.network.host), address_of_host(), exits["Gateway"]]


def test_an_agent_reaches_the_internet_and_only_the_gateway_on_private_networks(
    testbed: GatewayTestbed, free: DeployedAgent, other: DeployedAgent, public: str
) -> None:
    name, outside = gateway_of(testbed)
    assert "reached" in connect(testbed, free.name, public)
    assert "reached" in connect(testbed, free.name, testbed.address.host, PORT)
    for address in (other.address, *near(testbed)):
        assert "reached" not in connect(testbed, free.name, address), address
    for port in (DOOR, PORT + 1, 22):
        assert "refused" in connect(testbed, free.name, testbed.address.host, port)
    assert "reached" not in connect(testbed, free.name, outside, PORT)
    assert "reached" in connect(testbed, name, near(testbed)[-1])  # the gateway's own exit network is another one


def test_the_gateway_opens_no_connection_to_an_agent(testbed: GatewayTestbed, other: DeployedAgent) -> None:
    name, _ = gateway_of(testbed)
    assert "reached" not in connect(testbed, name, other.address)


def test_an_agent_confined_to_the_gateway_reaches_nothing_else(
    testbed: GatewayTestbed, alone: DeployedAgent, other: DeployedAgent, public: str
) -> None:
    assert testbed.ask_from(alone, testbed.get_me(alone)).startswith("200 ")
    testbed.telegram.say(alone.token, 1, "Alone?")
    assert testbed.telegram.wait_for_message(alone.token, timeout=PATIENCE).text == "You said: Alone?"
    outside = gateway_of(testbed)[1]
    for allowed in ([], [("0.0.0.0/0", None)]):
        with override_settings(BERTH_EGRESS_ALLOW=allowed):
            assert testbed.engine.ensure_firewall() is None
            for address in (public, other.address, *near(testbed)):
                assert "reached" not in connect(testbed, alone.name, address), address
            assert "reached" not in connect(testbed, alone.name, outside, PORT)
            assert testbed.ask_from(alone, testbed.get_me(alone)).startswith("200 ")
    assert testbed.engine.ensure_firewall() is None


def test_through_the_gateway_an_agent_reaches_only_its_allowed_hosts(
    testbed: GatewayTestbed, alone: DeployedAgent, free: DeployedAgent, public: str
) -> None:
    alone.hosts = (f"door.example.org:{DOOR}", f"near.example.org:{DOOR}", f"agent.example.org:{DOOR}")
    testbed.tell(alone)
    near_by = {"near": near(testbed)[-1], "agent": free.address}
    with names(door=public, other=public, **near_by):
        assert tunnel(testbed, alone, f"door.example.org:{DOOR}") == "200 b'hello\\n'\n"
        for name in ("other", *near_by):
            assert tunnel(testbed, alone, f"{name}.example.org:{DOOR}").startswith("403 "), name
        assert tunnel(testbed, alone, f"{public}:{DOOR}").startswith("400 ")
        # The hosts of its type are none, so it is told in words.
        refused = tunnel(testbed, free, f"door.example.org:{DOOR}")
        assert refused.startswith("403 ")
        assert "words" in refused


def test_an_agent_confined_to_the_gateway_resolves_no_name(testbed: GatewayTestbed, alone: DeployedAgent) -> None:
    """That no name server can be reached: `tests/containers/firewall/test_name_servers.py`."""
    assert "gaierror" in connect(testbed, alone.name, "example.org")
    kept = testbed.client.inspect_container(alone.name)["HostConfig"]["Dns"]
    assert kept == ["127.0.0.1"]
