"""Every step of a call keeps its limits: look-up, connect, handshake, read and write, with and without TLS."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from containers.outbound import call_limits, dns_lookups
from containers.outbound.bounded_http import bounded_tls
from containers.outbound.call_limits import AnswerTooLargeError, connect, size_limit, time_limit
from containers.processes import side_work
from tests.certificates import make_authority

pytestmark = pytest.mark.one_database

LIMIT, GUARD = 0.1, 40.0


@pytest.fixture
def full_port() -> Iterator[int]:
    """The port of a server whose queue is full: the kernel answers no further client."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def test_a_connect_keeps_the_time_limit(full_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_limits, "CONNECT_TIMEOUT", 2 * GUARD)
    began = time.monotonic()
    with time_limit(LIMIT), pytest.raises(TimeoutError):
        connect("127.0.0.1", full_port)
    assert LIMIT <= time.monotonic() - began < GUARD


def test_without_a_time_limit_a_call_has_its_default(full_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_limits, "CONNECT_TIMEOUT", LIMIT)
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        connect("127.0.0.1", full_port)
    assert LIMIT <= time.monotonic() - began < GUARD


@pytest.fixture
def peer() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Our end, which keeps the limits, and the other one, which is silent and reads nothing by itself."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = connect(*listener.getsockname())
        theirs, _ = listener.accept()
        ours.settimeout(2 * GUARD)  # HTTP libraries set it, but it does not limit all steps together
        theirs.settimeout(2 * GUARD)
        with ours, theirs:
            yield ours, theirs


@pytest.fixture
def tls_peer(
    peer: tuple[socket.socket, socket.socket], tmp_path: Path
) -> Iterator[tuple[socket.socket, socket.socket]]:
    """The same over TLS, after the handshake."""
    authority = make_authority(tmp_path)
    ours, theirs = peer
    context = bounded_tls()
    context.load_verify_locations(authority.certificate)
    secured: list[socket.socket] = []
    server = threading.Thread(
        target=lambda: secured.append(authority.server_context().wrap_socket(theirs, server_side=True))
    )
    server.start()
    client = context.wrap_socket(ours, server_hostname="localhost")
    server.join()
    with client, secured[0]:
        yield client, secured[0]


def read_all(sock: socket.socket) -> None:
    until = time.monotonic() + GUARD
    while time.monotonic() < until and sock.recv_into(bytearray(40)):
        pass


STEPS: dict[str, Callable[[socket.socket], object]] = {
    "a read": lambda sock: sock.recv_into(bytearray(1)),
    "a write": lambda sock: sock.sendall(bytes(64 * 1024 * 1024)),
}
"""Steps that wait for a peer that is silent or does not read: more data than the kernel buffers."""


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", ["peer", "tls_peer"])
def test_every_step_keeps_the_time_limit(request: pytest.FixtureRequest, kind: str, step: str) -> None:
    ours, _ = request.getfixturevalue(kind)
    began = time.monotonic()
    with time_limit(LIMIT), pytest.raises(TimeoutError):
        STEPS[step](ours)
    assert LIMIT <= time.monotonic() - began < GUARD


def test_a_handshake_keeps_the_time_limit_too(peer: tuple[socket.socket, socket.socket]) -> None:
    ours, _ = peer
    began = time.monotonic()
    with time_limit(LIMIT), pytest.raises(TimeoutError):
        bounded_tls().wrap_socket(ours, server_hostname="localhost")
    assert LIMIT <= time.monotonic() - began < GUARD


def test_a_byte_now_and_then_prolongs_nothing(peer: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = peer
    over = threading.Event()

    def drip() -> None:
        with suppress(OSError):
            while not over.wait(LIMIT / 10):
                theirs.sendall(b"x")

    thread = threading.Thread(target=drip)
    thread.start()
    began = time.monotonic()
    try:
        with time_limit(LIMIT), pytest.raises(TimeoutError):
            read_all(ours)
    finally:
        over.set()
        thread.join()
    assert time.monotonic() - began < GUARD


@pytest.mark.parametrize("kind", ["peer", "tls_peer"])
def test_every_byte_of_an_answer_is_counted(request: pytest.FixtureRequest, kind: str) -> None:
    ours, theirs = request.getfixturevalue(kind)
    theirs.sendall(bytes(100))
    with size_limit(99), pytest.raises(AnswerTooLargeError):
        read_all(ours)


def test_a_silent_name_server_blocks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    answered, left = threading.Event(), threading.Event()

    def look_up(*_: object, **__: object) -> list[object]:
        answered.wait(2 * GUARD)
        left.set()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    began = time.monotonic()
    try:
        with time_limit(LIMIT), pytest.raises(TimeoutError):
            connect("localhost", 443)
    finally:
        answered.set()
        left.wait(2 * GUARD)
    assert LIMIT <= time.monotonic() - began < GUARD


@pytest.mark.parametrize("is_given", [False, True], ids=["no thread", "a thread without memory"])
def test_a_look_up_that_cannot_begin_holds_no_place(monkeypatch: pytest.MonkeyPatch, is_given: bool) -> None:
    monkeypatch.setattr(dns_lookups, "BEGINS_WITHIN", 0.01)
    monkeypatch.setattr(dns_lookups, "_places", threading.BoundedSemaphore(1))
    monkeypatch.setattr(side_work, "begin_thread", lambda _: is_given)
    for _ in range(2):
        with time_limit(GUARD), pytest.raises(OSError, match="No thread"):
            connect("localhost", 443)


def test_many_unanswered_lookups_block_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dns_lookups, "_places", threading.BoundedSemaphore(1))
    dns_lookups._places.acquire()
    began = time.monotonic()
    with time_limit(LIMIT), pytest.raises(TimeoutError):
        connect("localhost", 443)
    assert LIMIT <= time.monotonic() - began < GUARD
