"""Where agents behind the gateway can send packets, and where it can: with real packets, on a real engine."""

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
from tests.gateway.on_engine import PATIENCE, DeployedAgent, Harbour
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
def other(harbour: Harbour, neighbour: DeployedAgent) -> DeployedAgent:
    """At its address somebody listens."""
    made = harbour.client.exec_create(neighbour.name, ["/opt/agent/bin/python3", "-c", LISTEN])
    harbour.client.exec_start(made["Id"], detach=True)
    wait_until(lambda: "reached" in connect(harbour, neighbour.name, "127.0.0.1"), within=PATIENCE)
    return neighbour


@pytest.fixture(scope="module")
def alone(harbour: Harbour) -> DeployedAgent:
    return harbour.settle(Reach.GATEWAY)


@pytest.fixture(scope="module")
def public() -> Iterator[str]:
    """An address of the internet. At all addresses of this machine somebody listens, too."""
    with fake_internet() as address, listener():
        yield address


def tunnel(harbour: Harbour, agent: DeployedAgent, target: str) -> str:
    words = (harbour.address.host, str(PORT), target)
    return run_inside(harbour.client, agent.name, "/opt/agent/bin/python3", "-c", TUNNEL, *words)[1]


def connect(harbour: Harbour, container: str, address: str, port: int = DOOR) -> str:
    python = "/opt/gateway/bin/python3" if "-gateway-" in container else "/opt/agent/bin/python3"
    return run_inside(harbour.client, container, python, "-c", CONNECT, address, str(port))[1]


def gateway_of(harbour: Harbour) -> tuple[str, str]:
    """The name of the gateway's container, and its address on its own way out."""
    found = harbour.engine.inspect_gateway()
    assert found
    ends = harbour.client.inspect_container(found.name)["NetworkSettings"]["Networks"]
    return found.name, ends[exit_network_name()]["IPAddress"]


def near(harbour: Harbour) -> list[str]:
    """Addresses of this machine at which somebody listens."""
    exits = harbour.client.inspect_network(exit_network_name())["IPAM"]["Config"][0]
    return [str(harbour.network.host), address_of_host(), exits["Gateway"]]


def test_an_agent_reaches_the_internet_and_only_the_gateway_on_private_networks(
    harbour: Harbour, free: DeployedAgent, other: DeployedAgent, public: str
) -> None:
    name, outside = gateway_of(harbour)
    assert "reached" in connect(harbour, free.name, public)
    assert "reached" in connect(harbour, free.name, harbour.address.host, PORT)
    for address in (other.address, *near(harbour)):
        assert "reached" not in connect(harbour, free.name, address), address
    for port in (DOOR, PORT + 1, 22):
        assert "refused" in connect(harbour, free.name, harbour.address.host, port)
    assert "reached" not in connect(harbour, free.name, outside, PORT)
    assert "reached" in connect(harbour, name, near(harbour)[-1])  # its own way out is another one


def test_the_gateway_opens_no_connection_to_an_agent(harbour: Harbour, other: DeployedAgent) -> None:
    name, _ = gateway_of(harbour)
    assert "reached" not in connect(harbour, name, other.address)


def test_an_agent_confined_to_the_gateway_reaches_nothing_else(
    harbour: Harbour, alone: DeployedAgent, other: DeployedAgent, public: str
) -> None:
    assert harbour.ask_from(alone, harbour.get_me(alone)).startswith("200 ")
    harbour.telegram.say(alone.token, 1, "Alone?")
    assert harbour.telegram.wait_for_message(alone.token, timeout=PATIENCE).text == "You said: Alone?"
    outside = gateway_of(harbour)[1]
    for allowed in ([], [("0.0.0.0/0", None)]):
        with override_settings(BERTH_EGRESS_ALLOW=allowed):
            assert harbour.engine.ensure_firewall() is None
            for address in (public, other.address, *near(harbour)):
                assert "reached" not in connect(harbour, alone.name, address), address
            assert "reached" not in connect(harbour, alone.name, outside, PORT)
            assert harbour.ask_from(alone, harbour.get_me(alone)).startswith("200 ")
    assert harbour.engine.ensure_firewall() is None


def test_through_the_gateway_an_agent_reaches_only_its_allowed_hosts(
    harbour: Harbour, alone: DeployedAgent, free: DeployedAgent, public: str
) -> None:
    alone.hosts = (f"door.example.org:{DOOR}", f"near.example.org:{DOOR}", f"agent.example.org:{DOOR}")
    harbour.tell(alone)
    near_by = {"near": near(harbour)[-1], "agent": free.address}
    with names(door=public, other=public, **near_by):
        assert tunnel(harbour, alone, f"door.example.org:{DOOR}") == "200 b'hello\\n'\n"
        for name in ("other", *near_by):
            assert tunnel(harbour, alone, f"{name}.example.org:{DOOR}").startswith("403 "), name
        assert tunnel(harbour, alone, f"{public}:{DOOR}").startswith("400 ")
        assert tunnel(harbour, free, f"door.example.org:{DOOR}").startswith("403 ")


def test_an_agent_confined_to_the_gateway_resolves_no_name(harbour: Harbour, alone: DeployedAgent) -> None:
    """That nobody is asked for one: `tests/containers/firewall/test_name_servers.py`."""
    assert "gaierror" in connect(harbour, alone.name, "example.org")
    kept = harbour.client.inspect_container(alone.name)["HostConfig"]["Dns"]
    assert kept == ["127.0.0.1"]
