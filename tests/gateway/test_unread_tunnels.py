"""A tunnel with an end that reads nothing is idle, and what is left for an end that still reads arrives."""

import asyncio
import contextlib
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvloop

from tests.fakes.listening import accept_each, stop_listening
from tests.gateway.process import PATIENCE
from tests.gateway.tunnelling import ALICE, FAR, Running, read_exactly, read_head, run_gateway
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database

Serve = Callable[[socket.socket], None]
SMALL = 4096
PIECE = bytes(65536)


@pytest.fixture(params=["asyncio", "uvloop"])
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Running]:
    if request.param == "uvloop":  # as in the real process
        monkeypatch.setattr(asyncio, "run", uvloop.run)
    yield from run_gateway(tmp_path, monkeypatch)


@contextlib.contextmanager
def serving(serve: Serve) -> Iterator[str]:
    """Yields a host whose connections `serve` serves."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
        listener.bind((FAR, 0))
        listener.listen()
        threading.Thread(target=accept_each, args=(listener, serve), daemon=True).start()
        yield f"far.example.org:{listener.getsockname()[1]}"
        stop_listening(listener)


def fill(connection: socket.socket) -> None:
    """Sends until the other side has taken nothing for a moment."""
    connection.settimeout(0.3)
    with contextlib.suppress(OSError):
        while True:
            connection.send(PIECE)


def is_established(host: str) -> bool:
    command = ["ss", "-tnH", "state", "established", "dst", f"{FAR}:{host.partition(':')[2]}"]
    return bool(subprocess.run(command, capture_output=True, check=True).stdout)


def test_a_tunnel_whose_agent_reads_nothing_is_closed(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.tunnels.idleness.IDLE_FOR", 0.3)
    ended = threading.Event()

    def flood(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while True:
                connection.sendall(PIECE)
        ended.set()

    with serving(flood) as host:
        running.tell("alice", ALICE, host)
        with running.open(host) as connection:
            read_head(connection)
            assert ended.wait(PATIENCE)


def test_a_tunnel_whose_host_reads_nothing_is_closed(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.tunnels.idleness.IDLE_FOR", 0.3)
    over = threading.Event()

    def hold(connection: socket.socket) -> None:
        with connection:
            over.wait(PATIENCE)

    with serving(hold) as host:
        running.tell("alice", ALICE, host)
        with running.open(host) as connection:
            read_head(connection)
            fill(connection)
            wait_until(lambda: not is_established(host), within=PATIENCE)
        over.set()


@pytest.mark.parametrize("slow", ["agent", "host"])
def test_a_tunnel_with_a_slow_end_stays_open(running: Running, monkeypatch: pytest.MonkeyPatch, slow: str) -> None:
    """Even if it takes less in the time than the kernel holds."""
    monkeypatch.setattr("gateway.tunnels.idleness.IDLE_FOR", 0.5)
    size, pause = 64 * len(PIECE), threading.Event()
    done = threading.Event()

    def read_slowly(connection: socket.socket) -> None:
        came = 0
        while came < size and (piece := connection.recv(SMALL)):
            came += len(piece)
            if came < 150 * SMALL:
                pause.wait(0.01)  # together several times as long as a tunnel may be idle
        if came == size:
            done.set()

    def serve(connection: socket.socket) -> None:
        with connection:
            if slow == "host":
                read_slowly(connection)
            else:
                connection.sendall(bytes(size))
                done.wait(PATIENCE)

    with serving(serve) as host:
        running.tell("alice", ALICE, host)
        with running.open(host) as connection:
            read_head(connection)
            if slow == "agent":
                read_slowly(connection)
            else:
                connection.sendall(bytes(size))
            assert done.wait(PATIENCE)


def test_what_an_agent_sent_before_it_closed_arrives(running: Running) -> None:
    """Even what waits in the gateway because the host reads slowly."""
    start, came, ended = threading.Event(), bytearray(), threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection:
            start.wait(PATIENCE)
            with contextlib.suppress(OSError):
                came.extend(read_exactly(connection, 1 << 40))
        ended.set()

    with serving(serve) as host:
        running.tell("alice", ALICE, host)
        for extra in range(4):
            start.clear()
            ended.clear()
            came.clear()
            size = 2_600_000 + extra * 100_000
            with running.open(host) as connection:
                read_head(connection)
                sender = threading.Thread(target=connection.sendall, args=(bytes(size),))
                sender.start()
                sender.join(1.0)
                if sender.is_alive():
                    start.set()
                sender.join()
            start.set()
            assert ended.wait(PATIENCE)
            assert len(came) == size


class Rest(asyncio.Transport):
    """A connection whose other side takes some bytes in each look, until it stops."""

    def __init__(self, size: int, *, stops_at: int) -> None:
        super().__init__()
        self.size, self.stops_at, self.ends = size, stops_at, list[str]()

    def get_write_buffer_size(self) -> int:
        self.size = max(self.stops_at, self.size - 1)
        return self.size

    def close(self) -> None:
        self.ends.append("close")

    def abort(self) -> None:
        self.ends.append(f"abort with {self.size}")


@pytest.mark.parametrize(("stops_at", "ends"), [(0, ["close"]), (3, ["close", "abort with 3"])])
def test_a_closed_connection_is_aborted_once_its_end_takes_nothing_more(
    monkeypatch: pytest.MonkeyPatch, stops_at: int, ends: list[str]
) -> None:
    from gateway.tunnels import idleness

    monkeypatch.setattr(idleness, "REST_WITHIN", 0.02)
    monkeypatch.setattr(idleness, "LOOK_EVERY", 0.005)
    rest = Rest(50, stops_at=stops_at)
    asyncio.run(asyncio.wait_for(idleness.send_rest(rest), PATIENCE))
    assert rest.ends == ends
