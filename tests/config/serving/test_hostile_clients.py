"""`manage.py serve` without a proxy in front: strangers that keep connections open block nobody else."""

import http.client
import itertools
import selectors
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.config.serving.served import Served

GUARD = 30.0
MANY = 2300
HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
FORM = b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
LARGE = b"GET /static/admin/js/vendor/jquery/jquery.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
LARGE_BYTES = 250_000
"""Less than such an answer has."""

TIMES = 40
"""How often it is requested, all at once: more than the buffers of a socket hold."""

CHUNKED = FORM + b"Transfer-Encoding: chunked\r\n\r\n"
BEGINNINGS = {
    "silent": (b"", MANY),
    "half a request line": (b"GET /", 600),
    "half a head": (HEAD, MANY),
    "half a body": (FORM + b"Content-Length: 5000\r\n\r\nemail=", 600),
    "half a chunk": (CHUNKED + b"fff\r\nemail=", 600),
    "a body that never comes": (FORM + b"Content-Length: 5000\r\nExpect: 100-continue\r\n\r\n", 600),
    "a body over the limit": (FORM + b"Content-Length: 400000000\r\n\r\n" + b"x" * 10_000, 200),
    "answers that nobody reads": (LARGE * TIMES, 100),
}


@pytest.fixture
def sockets() -> Iterator[list[socket.socket]]:
    opened: list[socket.socket] = []
    yield opened
    for client in opened:
        client.close()


def open_one(shared: Served, data: bytes) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(GUARD)
    with suppress(OSError):  # it may be closed before we have sent everything
        client.connect(("127.0.0.1", shared.port))
        client.sendall(data)
    client.setblocking(False)
    return client


def test_the_unread_answers_exceed_the_buffers_of_a_socket(shared: Served) -> None:
    buffer = int(Path("/proc/sys/net/ipv4/tcp_wmem").read_text().split()[-1])  # our receive buffer holds 4 KiB
    assert buffer < LARGE_BYTES * TIMES
    connection = http.client.HTTPConnection("127.0.0.1", shared.port, timeout=GUARD)
    for _ in range(2):  # on one connection
        connection.request("GET", LARGE.split()[1].decode())
        answer = connection.getresponse()
        assert answer.status == 200
        assert len(answer.read()) > LARGE_BYTES
    connection.close()


def assert_others_are_answered(shared: Served) -> None:
    for path in ("/healthz", "/sign-in", "/api/auth/session"):
        connection = http.client.HTTPConnection("127.0.0.1", shared.port, timeout=GUARD)
        connection.request("GET", path)
        assert connection.getresponse().status == 200
        connection.close()


@pytest.mark.parametrize("name", BEGINNINGS)
def test_others_are_answered_while_strangers_keep_connections_open(
    shared: Served, sockets: list[socket.socket], name: str
) -> None:
    data, number = BEGINNINGS[name]
    sockets += [open_one(shared, data) for _ in range(number)]
    assert_others_are_answered(shared)


@pytest.mark.parametrize("beginning", [b"", HEAD, FORM + b"Content-Length: 60000\r\n\r\n", CHUNKED])
def test_others_are_answered_while_strangers_send_byte_by_byte(
    shared: Served, sockets: list[socket.socket], beginning: bytes
) -> None:
    """Closed clients come back as often as other clients are answered."""
    sockets += [open_one(shared, beginning) for _ in range(500)]
    for _ in range(4):
        for number, client in enumerate(sockets):
            try:
                client.send(b"a")
            except OSError:
                client.close()
                sockets[number] = open_one(shared, beginning)
        assert_others_are_answered(shared)


def test_a_client_that_sends_far_too_much_gets_its_413(shared: Served) -> None:
    client = socket.create_connection(("127.0.0.1", shared.port), timeout=GUARD)
    client.sendall(FORM.replace(b"x-www-form-urlencoded", b"x; boundary=b") + b"Content-Length: 400000000\r\n\r\n")
    client.setblocking(False)
    selector = selectors.DefaultSelector()
    selector.register(client, selectors.EVENT_READ | selectors.EVENT_WRITE)
    answer = b""
    with suppress(BrokenPipeError, ConnectionResetError):
        for _ in itertools.repeat(None, 4000):
            for _, events in selector.select(GUARD):
                if events & selectors.EVENT_READ:
                    answer += client.recv(65536)
                elif events & selectors.EVENT_WRITE:
                    client.send(b"x" * 65536)
            if b"</html>" in answer:
                break
    selector.close()
    client.close()
    assert answer.startswith(b"HTTP/1.1 413 ")
