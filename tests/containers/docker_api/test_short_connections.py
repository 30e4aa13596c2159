"""Short requests over open connections, to a server whose every byte is chosen here."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from urllib3.exceptions import ProtocolError

from containers.docker_api.short_connections import ShortAnswer, ShortConnections

PATIENCE = 5.0
GET = b"GET /x?y=1 HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\n"
INTERIM = b"HTTP/1.1 100 Continue\r\nX: z\r\n\r\n"

WHOLE = {
    "with a length": (OK + b"Content-Length: 4\r\n\r\nbody", b"body"),
    "in chunks": (OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2;x=y\r\ndy\r\n0\r\nT: r\r\n\r\n", b"body"),
    "empty": (OK + b"Content-Length: 0\r\n\r\n", b""),
    "without content": (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    "unchanged": (b"HTTP/1.1 304 Not Modified\r\n\r\n", b""),
    "after an interim answer": (INTERIM * 2 + OK + b"Content-Length: 4\r\n\r\nbody", b"body"),
}
"""Complete answers, each with its body."""

UNTIL_CLOSED = OK + b"\r\nbody"


class Server:
    """Gives the answers in turn, one per request. Each connection ends after the last of its answers."""

    def __init__(self, *connections: list[bytes], pieces: int = 1 << 16) -> None:
        self._answers, self._pieces = iter(connections), pieces
        self.opened: list[socket.socket] = []
        self.requests: list[bytes] = []
        self.threads: list[threading.Thread] = []

    def open_socket(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        self.opened.append(ours)
        thread = threading.Thread(target=self._serve, args=(theirs, next(self._answers)), daemon=True)
        self.threads.append(thread)
        thread.start()
        return ours

    def _serve(self, theirs: socket.socket, answers: list[bytes]) -> None:
        with theirs, suppress(OSError):
            for answer in answers:
                self.requests.append(theirs.recv(1 << 16))
                for start in range(0, len(answer), self._pieces):
                    theirs.sendall(answer[start : start + self._pieces])

    def connections(self, *, size: int = 4) -> ShortConnections:
        return ShortConnections(self.open_socket, host="localhost", size=size)


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def make(*connections: list[bytes], pieces: int = 1 << 16) -> Server:
        servers.append(Server(*connections, pieces=pieces))
        return servers[-1]

    yield make
    for server in servers:
        for opened in server.opened:
            opened.close()
        for thread in server.threads:
            thread.join(PATIENCE)


def ask(connections: ShortConnections, method: str = "GET", body: bytes | None = None) -> ShortAnswer:
    return connections.ask(method, "/x?y=1", body=body, headers={"Accept": "*/*"}, timeout=PATIENCE)


@pytest.mark.parametrize("pieces", [1, 7, 1 << 16])
@pytest.mark.parametrize("answer", WHOLE)
def test_an_answer_is_read_whole_however_it_arrives(serve: Callable[..., Server], answer: str, pieces: int) -> None:
    sent, body = WHOLE[answer]
    server = serve([sent, sent], pieces=pieces)
    connections = server.connections()
    for _ in range(2):
        found = ask(connections)
        assert (found.body, "X" in found.headers) == (body, False)
    assert (len(server.opened), server.requests) == (1, [GET, GET])


def test_an_answer_without_a_length_ends_with_its_connection(serve: Callable[..., Server]) -> None:
    server = serve([UNTIL_CLOSED], [UNTIL_CLOSED])
    connections = server.connections()
    assert [ask(connections).body for _ in range(2)] == [b"body"] * 2
    assert len(server.opened) == 2


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
@pytest.mark.parametrize("body", [None, b"", b"{}"])
def test_a_request_says_how_long_it_is(serve: Callable[..., Server], method: str, body: bytes | None) -> None:
    server = serve([WHOLE["empty"][0]])
    ask(server.connections(), method, body)
    head = GET.replace(b"GET", method.encode())[:-2]
    length = b"" if body is None and method == "DELETE" else b"Content-Length: %d\r\n" % len(body or b"")
    assert server.requests == [head + length + b"\r\n" + (body or b"")]


def test_headers_are_joined_and_the_reason_is_kept(serve: Callable[..., Server]) -> None:
    answer = b"HTTP/1.1 404 No such thing\r\nA: 1\r\nB: \xe4\r\nA: 2\r\nContent-Length: 0\r\n\r\n"
    found = ask(serve([answer], pieces=3).connections())
    assert (found.status, found.reason) == (404, "No such thing")
    assert found.headers == {"A": "1, 2", "B": "ä", "Content-Length": "0"}


@pytest.mark.parametrize("close", [b"Connection: close\r\n", b"connection: Close\r\n"])
def test_a_connection_that_the_engine_ends_is_not_used_again(serve: Callable[..., Server], close: bytes) -> None:
    ended = OK + close + b"Content-Length: 0\r\n\r\n"
    server = serve([ended, ended], [ended])
    connections = server.connections()
    for _ in range(2):
        ask(connections)
    assert [each.fileno() for each in server.opened] == [-1, -1]


def test_a_connection_that_was_closed_meanwhile_is_replaced(serve: Callable[..., Server]) -> None:
    server = serve([WHOLE["empty"][0]], [WHOLE["with a length"][0]])
    connections = server.connections()
    ask(connections)
    server.threads[0].join(PATIENCE)  # the server closes it
    assert ask(connections).body == b"body"
    assert server.opened[0].fileno() == -1


def test_no_more_connections_are_kept_than_allowed(serve: Callable[..., Server]) -> None:
    answer = WHOLE["empty"][0]
    server = serve([answer, answer], [answer, answer])
    connections = server.connections(size=1)
    first, second = connections._take(), connections._take()
    connections._give_back(first)
    connections._give_back(second)
    assert (first.fileno() >= 0, second.fileno()) == (True, -1)
    connections.close()
    assert first.fileno() == -1


REFUSED = {
    "nothing": b"",
    "no HTTP": b"nonsense\r\n\r\n",
    "half a head": OK + b"Content-Le",
    "half a body": OK + b"Content-Length: 9\r\n\r\nbody",
    "half a chunk": OK + b"Transfer-Encoding: chunked\r\n\r\n9\r\nbody",
    "no last chunk": OK + b"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n",
    "only an interim answer": INTERIM,
    "two lengths": OK + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nbody",
    "a length and chunks": OK + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
    "another protocol": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: tcp\r\nConnection: Upgrade\r\n\r\n",
    "headers without end": OK + b"".join(b"X%d: y\r\n" % number for number in range(101)),
    "two answers": WHOLE["with a length"][0] * 2,
}


@pytest.mark.parametrize("answer", REFUSED)
def test_an_answer_that_is_none_is_an_error_and_ends_the_connection(serve: Callable[..., Server], answer: str) -> None:
    server = serve([REFUSED[answer]])
    with pytest.raises((ProtocolError, OSError)):
        ask(server.connections())
    assert server.opened[0].fileno() == -1


def test_a_silent_engine_is_waited_for_no_longer_than_allowed(serve: Callable[..., Server]) -> None:
    ours, theirs = socket.socketpair()
    connections = ShortConnections(lambda: ours, host="localhost", size=1)
    with theirs, pytest.raises(TimeoutError):
        connections.ask("GET", "/", body=None, headers={}, timeout=0.05)
    assert ours.fileno() == -1


def test_an_answer_that_comes_before_the_request_is_read_counts() -> None:
    """As from an engine that refuses a body for its size."""
    ours, theirs = socket.socketpair()
    theirs.sendall(b"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
    theirs.shutdown(socket.SHUT_RD)
    connections = ShortConnections(lambda: ours, host="localhost", size=1)
    with theirs:
        found = connections.ask("POST", "/", body=b"x" * 8_000_000, headers={}, timeout=PATIENCE)
    assert (found.status, found.body, ours.fileno()) == (413, b"{}", -1)


@pytest.mark.parametrize("target", ["/a b", "/a\r\nX: y", "/ä", "/\x00", "/\x7f"])
def test_a_target_that_http_cannot_express_is_refused(serve: Callable[..., Server], target: str) -> None:
    with pytest.raises(ValueError, match="must not contain"):
        serve().connections().ask("GET", target, body=None, headers={}, timeout=PATIENCE)


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "\x00"])
def test_a_header_cannot_add_another(serve: Callable[..., Server], value: str) -> None:
    with pytest.raises(ValueError, match="line break"):
        serve().connections().ask("GET", "/", body=None, headers={"A": value}, timeout=PATIENCE)
