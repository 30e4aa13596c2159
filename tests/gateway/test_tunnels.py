"""CONNECT: to which hosts a tunnel leads, for whom, and when it ends. The gateway runs in a thread of this process.

Only there can a test say what names lead to. With real names and a real engine: `test_reach.py`.
"""

import base64
import contextlib
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.process import PATIENCE
from tests.gateway.tunnelling import ALICE, BOB, FAR, PRIVATE, EchoServer, Running, read_exactly, read_head, run_gateway
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database


@pytest.fixture
def echo() -> Iterator[EchoServer]:
    server = EchoServer()
    yield server
    server.close()


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    yield from run_gateway(tmp_path, monkeypatch)


@pytest.fixture
def host(echo: EchoServer) -> str:
    """A name with a port at which an echo server answers."""
    return f"echo.example.org:{echo.port}"


def test_bytes_pass_both_ways_including_those_sent_with_the_head(running: Running, host: str) -> None:
    running.tell("alice", ALICE, host)
    with running.open(host, early=b"early ") as connection:
        assert read_head(connection).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"and late")
        assert read_exactly(connection, 14) == b"early and late"


def test_a_large_transfer_passes_at_the_speed_of_the_slower_end(running: Running, host: str) -> None:
    running.tell("alice", ALICE, host)
    data = bytes(range(256)) * 40_000
    with running.open(host) as connection:
        read_head(connection)
        sender = threading.Thread(target=connection.sendall, args=(data,))
        sender.start()
        assert read_exactly(connection, len(data)) == data
        sender.join()


def test_an_end_that_hangs_up_ends_the_other(running: Running, host: str, echo: EchoServer) -> None:
    running.tell("alice", ALICE, host)
    for _ in range(50):  # more than may be open at a time
        with running.open(host) as connection:
            assert read_head(connection).startswith(b"HTTP/1.1 200 ")
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b""
    wait_until(lambda: running.status(host) == 200, within=PATIENCE)


def test_other_hosts_and_private_addresses_are_refused_without_a_connection(
    running: Running, host: str, echo: EchoServer
) -> None:
    running.tell("alice", ALICE, host, *(f"{name}:{echo.port}" for name in (*PRIVATE, "missing.example.org")))
    assert running.status(f"other.example.org:{echo.port}") == 403
    assert running.status("echo.example.org:1") == 403
    for name in PRIVATE:
        assert running.status(f"{name}:{echo.port}") == 403, name
    assert running.status(f"missing.example.org:{echo.port}") == 502
    for text in (f"{FAR}:{echo.port}", "/", "*", "http://echo.example.org/", f"[::1]:{echo.port}"):
        assert running.status(text) in {400, 403}, text
    assert echo.connections == 0


def test_an_agent_without_allowed_hosts_is_told_so_in_words(running: Running, host: str, echo: EchoServer) -> None:
    running.tell("alice", ALICE)
    for target in (host, "example.org:443", "api.telegram.org:443"):
        with running.open(target) as connection:
            head = read_head(connection)
            assert head.startswith(b"HTTP/1.1 403 ")
            length = int(re.findall(rb"(?i)content-length: (\d+)", head)[0])
            assert b"This agent may not reach that host." in read_exactly(connection, length)
    assert echo.connections == 0


def test_an_unknown_client_is_asked_to_retry_and_then_refused(running: Running, host: str) -> None:
    assert running.status(host) == 503
    wait_until(lambda: running.status(host) == 403, within=PATIENCE)
    running.tell("alice", ALICE, host)
    assert running.status(host) == 200
    assert running.status(host, source=BOB) in {403, 503}


def test_without_an_address_the_credential_counts(running: Running, host: str) -> None:
    def with_password(password: str) -> str:
        return f"Proxy-Authorization: Basic {base64.b64encode(f'agent:{password}'.encode()).decode()}\r\n"

    running.tell("alice", None, host, key="sk-bvk_alice")
    running.tell("bob", BOB, host, key="sk-bvk_bob")
    assert running.status(host, more=with_password("sk-bvk_alice")) == 200
    wait_until(lambda: running.status(host) == 403, within=PATIENCE)
    assert running.status(host, more=with_password("sk-bvk_bob")) == 503  # his address is another one
    assert running.status(host, source=BOB, more=with_password("sk-bvk_bob")) == 200
    assert running.status(host, more=with_password("sk-bvk_alice") * 2) == 400
    for nonsense in ("Basic", "Basic ????", "Bearer sk-bvk_alice", "Basic /w=="):
        assert running.status(host, more=f"Proxy-Authorization: {nonsense}\r\n") == 403


@pytest.mark.parametrize("end", ["void", "other hosts"])
def test_a_tunnel_ends_when_its_permission_ends(running: Running, host: str, end: str) -> None:
    running.tell("alice", ALICE, host)
    with running.open(host, early=b"x") as connection:
        read_head(connection)
        assert connection.recv(1) == b"x"
        running.void("alice") if end == "void" else running.tell("alice", ALICE, "example.org")
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""
    assert running.status(host) in {403, 503}


def test_the_parallel_tunnels_of_a_project_are_limited(
    running: Running, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.tunnels.tunnel.MOST", 3)
    running.tell("alice", ALICE, host)
    running.tell("bob", BOB, host)
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            read_head(stack.enter_context(running.open(host)))
        assert running.status(host) == 429
        assert running.status(host, source=BOB) == 200
    wait_until(lambda: running.status(host) == 200, within=PATIENCE)


def test_an_idle_tunnel_is_closed(running: Running, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.tunnels.idleness.IDLE_FOR", 0.2)
    running.tell("alice", ALICE, host)
    with running.open(host) as connection:
        read_head(connection)
        assert connection.recv(1) == b""


@pytest.mark.parametrize("same", [True, False], ids=["one name", "many names"])
def test_names_without_an_answer_delay_no_other_agent(
    running: Running, host: str, monkeypatch: pytest.MonkeyPatch, same: bool
) -> None:
    silent = [f"silent{0 if same else n}.example.org" for n in range(16)]
    running.tell("alice", ALICE, host, *silent)
    running.tell("bob", BOB, host)
    monkeypatch.setattr("gateway.tunnels.connect.WITHIN", 1.0)
    with contextlib.ExitStack() as stack:
        hung = [stack.enter_context(running.open(f"{name}:443")) for name in silent]
        assert running.status(host, source=BOB) == 200
        assert running.status(host) == (200 if same else 504)
        assert {read_head(each).split()[1] for each in hung} == {b"504"}
        assert running.status(host, source=BOB) == 200


def test_a_body_after_a_connect_is_passed_on_as_plain_bytes(running: Running, host: str) -> None:
    """The bytes may look like a request, but are never treated as one."""
    running.tell("alice", ALICE, host)
    smuggled = b"GET /llm/v1/models HTTP/1.1\r\nHost: x\r\n\r\n"
    for more in ("", "Content-Length: 0\r\n", "Upgrade: websocket\r\nConnection: Upgrade\r\n"):
        with running.open(host, more=more, early=smuggled) as connection:
            head = read_head(connection)
            if head.startswith(b"HTTP/1.1 200 "):
                assert read_exactly(connection, len(smuggled)) == smuggled
    for more in (f"Content-Length: {len(smuggled)}\r\n", "Transfer-Encoding: chunked\r\n"):
        assert running.status(host, more=more, early=smuggled) in {200, 400}
