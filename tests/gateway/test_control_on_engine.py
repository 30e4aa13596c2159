"""The control side of a gateway on a real engine: over the network, and while the gateway is suspended."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from containers.docker.engine import DockerEngine
from containers.errors import EngineError
from containers.gateway.entries import Entry
from containers.gateway.protocol import GatewayClient
from containers.programs import is_root
from tests.fakes.listening import accept_each, stop_listening
from tests.gateway.on_engine import PATIENCE, GatewayTestbed

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.skipif(not is_root(), reason="takes the right to set firewall rules"),
]

HOSTS = [f"host{number}.example.org" for number in range(100)]
"""They make an entry long: some hundred kilobytes are sent."""
HERE = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"


@contextmanager
def forwarding(path: str) -> Iterator[str]:
    """Serves the engine's socket over TCP, like a remote engine. Yields its address."""

    def carry(from_: socket.socket, to: socket.socket) -> None:
        while piece := from_.recv(65536):
            to.sendall(piece)
        to.shutdown(socket.SHUT_WR)

    def serve(caller: socket.socket) -> None:
        with caller, socket.socket(socket.AF_UNIX) as engine:
            engine.connect(path)
            back = threading.Thread(target=carry, args=(engine, caller), daemon=True)
            back.start()
            carry(caller, engine)
            back.join()

    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=accept_each, args=(listener, serve), daemon=True).start()
    try:
        yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        stop_listening(listener)


@pytest.mark.skipif(not HERE.startswith("unix://"), reason="the engine is remote")
def test_a_remote_engine_carries_the_control_channel_like_a_local_one(
    testbed: GatewayTestbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    with forwarding(HERE.removeprefix("unix://")) as address:
        monkeypatch.setenv("DOCKER_HOST", address)
        client = GatewayClient(DockerEngine().gateway(), within=PATIENCE)
        entries = [Entry(project=f"p{number}", address="10.1.2.3", hosts=frozenset(HOSTS)) for number in range(50)]
        assert set(client.apply(version=1, entries=entries).values()) == {1}
        assert set(client.versions()) >= {entry.project for entry in entries}
        client.apply(version=2, void=[entry.project for entry in entries])


def last_child(pid: int) -> int:
    """The gateway's process: below the container's first process and the supervisor that restarts it."""
    while found := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        (child,) = found
        pid = int(child)
    return pid


def test_a_frozen_gateway_blocks_neither_its_caller_nor_other_calls(testbed: GatewayTestbed) -> None:
    found = testbed.engine.inspect_gateway()
    assert found
    pid = last_child(testbed.client.inspect_container(found.container_id)["State"]["Pid"])
    os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        for _ in range(4):  # more than open the breaker
            with pytest.raises(EngineError):
                GatewayClient(testbed.engine.gateway(), within=0.3).ping()
        assert time.monotonic() - began < 30
        testbed.engine.ping()
    finally:
        os.kill(pid, signal.SIGCONT)
    assert testbed.control.ping() == 1
