"""Who asks the name server for an agent: the agent's own network, where rules count the packets,
or the engine itself."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import docker
import pytest

from containers.hardening import NO_NAMES
from tests.chaos.private_engine import PrivateEngine
from tests.containers.rootfs import make_images
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(300),
    pytest.mark.skipif(shutil.which("dockerd") is None, reason="there is no dockerd for an engine of its own"),
]

LOOPBACK, ADDRESS = "127.0.0.1", "10.99.0.53"

SERVER = """
import socket, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((sys.argv[1], 53))
while True:
    question, asker = server.recvfrom(2048)
    print(asker[0], flush=True)
    server.sendto(question[:2] + b"\\x81\\x83" + question[4:6] + bytes(6) + question[12:], asker)
"""
ASK = """
import socket
question = b"\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\7example\\3org\\0\\0\\1\\0\\1"
asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asking.settimeout(60)
asking.sendto(question, ("127.0.0.11", 53))
assert asking.recv(999)[:2] == question[:2]
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[PrivateEngine]:
    """An engine on a host whose only name server is on a loopback address."""
    home = Path(tempfile.mkdtemp(prefix="berth-dns-", dir="/tmp"))
    (home / "resolv.conf").write_text(f"nameserver {LOOPBACK}\n")
    made = PrivateEngine(home)
    first = f"ip addr add {ADDRESS}/32 dev lo\nmount --bind {home}/resolv.conf /etc/resolv.conf"
    try:
        made.start(first=first)
        yield made
    finally:
        made.close()


def who_asks(engine: PrivateEngine, name_servers: list[str], log: Path) -> set[str]:
    """Returns the addresses from which the name servers are asked when an agent asks Docker's resolver."""
    with asking(engine, name_servers, log) as ask:

        def is_asked() -> bool:
            """If the server does not listen yet, the resolver itself answers that it failed."""
            ask(ASK)
            return bool(log.read_text().strip())

        wait_until(is_asked, within=120)
    return set(log.read_text().split())


@contextmanager
def asking(engine: PrivateEngine, name_servers: list[str], log: Path) -> Iterator[Callable[[str], None]]:
    """Runs a script on an agent's network. The name servers log who asks them."""
    with ExitStack() as stack:
        client = docker.APIClient(base_url=engine.url, version="auto", timeout=120)
        stack.callback(client.close)
        image = make_images(client, "dns")[0]
        output = stack.enter_context(log.open("wb"))
        for address in (LOOPBACK, ADDRESS):
            server = subprocess.Popen(engine.command(sys.executable, "-c", SERVER, address), stdout=output)
            stack.callback(server.wait, 60)
            stack.callback(server.terminate)
        network = client.create_network("agents", driver="bridge")["Id"]
        stack.callback(client.remove_network, network)
        config = client.create_host_config(network_mode="agents", dns=name_servers or None)
        agent = client.create_container(image, command=["sleep", "600"], entrypoint=[], host_config=config)["Id"]
        stack.callback(client.remove_container, agent, force=True)
        client.start(agent)
        pid = client.inspect_container(agent)["State"]["Pid"]
        inside = ["nsenter", "--target", str(pid), "--net", sys.executable, "-c"]

        def ask(script: str) -> None:
            subprocess.run([*inside, script], check=True, timeout=120, stderr=subprocess.DEVNULL)

        yield ask


def test_with_a_loopback_name_server_the_engine_asks_past_all_rules(engine: PrivateEngine, tmp_path: Path) -> None:
    """SECURITY.md warns of this. Remove the warning once engines do better."""
    assert who_asks(engine, [], tmp_path / "log") == {LOOPBACK}


def test_with_configured_name_servers_dns_queries_pass_through_the_rules(engine: PrivateEngine, tmp_path: Path) -> None:
    asked = who_asks(engine, [ADDRESS], tmp_path / "log")
    assert asked
    assert not {address for address in asked if address.startswith("127.") or address == ADDRESS}


def test_an_agent_confined_to_the_gateway_makes_no_dns_query(engine: PrivateEngine, tmp_path: Path) -> None:
    """Neither through the rules nor past them. The resolver may answer that it failed, or not at all."""
    log = tmp_path / "log"
    give_up = ASK.replace("settimeout(60)", "settimeout(3)").replace(
        "assert asking.recv(999)[:2] == question[:2]",
        "try:\n    answer = asking.recv(999)\n    assert answer[3] & 15 == 2, answer\nexcept TimeoutError:\n    pass",
    )
    directly = ASK.replace("127.0.0.11", ADDRESS)
    with asking(engine, [NO_NAMES], log) as ask:
        # Both servers listen: this test asks this one.
        wait_until(lambda: _is_answered(ask, directly), within=120, every=0.2)
        before = log.read_text()
        ask(give_up)
        ask(give_up)
        assert log.read_text() == before


def _is_answered(ask: Callable[[str], None], script: str) -> bool:
    try:
        ask(script.replace("settimeout(60)", "settimeout(1)"))
    except subprocess.CalledProcessError:
        return False
    return True
