"""An answer that nobody has asked for goes to no agent: not to the one whose request comes next on its connection."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.fakes.listening import accept_each, stop_listening
from tests.gateway.agents import Agent
from tests.gateway.process import PATIENCE
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database


def answer(body: bytes, head: bytes = b"HTTP/1.1 200 OK") -> bytes:
    return head + b"\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


FOREIGN = b'{"foreign":1}'
UNASKED = {
    "an answer": answer(FOREIGN),
    "two answers": answer(FOREIGN) * 2,
    "an answer without a body": b"HTTP/1.1 204 No Content\r\n\r\n",
    "an answer in chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nd\r\n%b\r\n0\r\n\r\n" % FOREIGN,
    "the beginning of an answer": answer(FOREIGN)[:-5],
    "a part of a head": answer(FOREIGN)[:30],
    "an interim answer": b"HTTP/1.1 103 Early Hints\r\n\r\n",
    "an error": answer(FOREIGN, b"HTTP/1.1 408 Request Timeout"),
    "no HTTP": b"foreign\r\n\r\n",
    "a byte": b"\n",
}


class TalkativeServer:
    """Answers each request with the key that it came with, and can send more on the connections that it keeps."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections: list[socket.socket] = []
        threading.Thread(target=accept_each, args=(self._listener, self._serve), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        self.connections.append(connection)
        with suppress(OSError):
            received = b""
            while piece := connection.recv(65536):
                received += piece
                if received.endswith((b"\r\n\r\n", b"}")):
                    key = received.partition(b"Bearer ")[2].partition(b"\r\n")[0]
                    connection.sendall(answer(b'{"last":"%b"}' % key[-5:]))
                    received = b""

    def close(self) -> None:
        stop_listening(self._listener)
        for connection in self.connections:
            connection.close()


@pytest.fixture
def server() -> Iterator[TalkativeServer]:
    server = TalkativeServer()
    yield server
    server.close()


@pytest.mark.parametrize("unasked", UNASKED.values(), ids=UNASKED)
def test_the_next_request_gets_its_own_answer(
    alice: Agent, bob: Agent, server: TalkativeServer, unasked: bytes
) -> None:
    for agent in (alice, bob):
        provider = {**agent.entry()["provider"], "base": server.url}
        agent.gateway.apply(agent.entry(provider=provider))
    assert alice.ask("GET", "/llm/v1/models", headers=alice.login).json() == {"last": alice.key[-5:]}
    (connection,) = server.connections
    connection.sendall(unasked)
    wait_until(lambda: is_closed(connection), within=PATIENCE)
    for agent in (bob, alice):
        assert agent.ask("GET", "/llm/v1/models", headers=agent.login).json() == {"last": agent.key[-5:]}


def is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return not connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
