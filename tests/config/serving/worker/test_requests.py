"""How the web server's loop reads requests, and how long it waits for them."""

import json
import socket
from typing import Any

import pytest

from tests.config.serving.looping import GUARD, Looping, read_all
from tests.config.serving.worker.application import LAST, Site, status_of
from tests.waiting import wait_until


def test_an_answer_leaves_the_connection_open(server: Looping) -> None:
    client = server.connect()
    for path in (b"/one", b"/two"):
        client.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = client.recv(65536)
        while not answer.endswith(path):
            answer += client.recv(65536)
    client.sendall(LAST)
    assert read_all(client).endswith(b"/hello")


def test_pipelined_requests_are_answered_in_order(server: Looping) -> None:
    first = b"GET /one HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answers = server.ask(first + b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc" + LAST)
    assert [answers.find(path) > 0 for path in (b"/one", b"/body", b"/hello")] == [True] * 3
    assert answers.find(b"/one") < answers.find(b"/body") < answers.find(b"/hello")


def test_a_body_byte_by_byte_reaches_the_application_whole(server: Looping, site: Site) -> None:
    client = server.connect(b"POST /body HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\n")
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in b"abcde":
        client.sendall(bytes([byte]))
    assert status_of(read_all(client)) == 200
    assert site.bodies == [b"abcde"]


def test_a_client_gets_100_continue_once(server: Looping) -> None:
    head = b"POST /body HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
    client = server.connect(head)
    assert client.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
    client.sendall(b"abc")
    assert status_of(read_all(client)) == 200


@pytest.mark.parametrize("begun", [b"", b"GET /", b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab"])
def test_threads_never_wait_for_a_client(server: Looping, begun: bytes) -> None:
    for _ in range(50):
        server.connect(begun)
    server.wait_for_connections(50)
    assert server.ask(LAST).endswith(b"/hello")


@pytest.mark.parametrize("begun", [b"GET / HTTP/1.1\r\nHost: ", b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab"])
def test_an_incomplete_request_gets_408_after_its_deadline(hasty: Looping, begun: bytes) -> None:
    answer = hasty.ask(begun)
    assert status_of(answer) == 408
    problem = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert (problem["code"], problem["status"], len(problem["request_id"])) == ("request_timeout", 408, 32)


def test_a_silent_connection_is_closed_without_a_word(hasty: Looping) -> None:
    assert hasty.ask(b"") == b""


def test_a_byte_now_and_then_wins_no_time(server: Looping) -> None:
    """The deadline of a head counts from its beginning."""
    client = server.connect(b"G")
    server.wait_for_connections(1)
    [connection] = server.worker.clients._heads
    until = server.worker.clients._heads._until[connection]
    client.sendall(b"ET / HTTP")
    wait_until(lambda: len(connection.received) > 1)
    assert server.worker.clients._heads._until[connection] == until


def test_a_request_sent_before_the_answer_is_read_right_after_it(server: Looping, site: Site) -> None:
    """While an answer is in progress, the loop does not watch a socket that has more to read,
    so nothing else wakes it then."""
    client = server.connect(b"GET /one HTTP/1.1\r\nHost: x\r\n\r\n")
    assert client.recv(65536)
    client.sendall(b"GET /held HTTP/1.1\r\nHost: x\r\n\r\n")
    wait_until(lambda: len(site.threads) == 2)
    [connection] = server.worker.clients.connections
    client.sendall(LAST)
    wait_until(lambda: connection.interest == 0)
    server.worker.loop._selector.select = never_by_itself(server)  # type: ignore[method-assign]  # of this server only
    site.hold.set()
    assert read_all(client).endswith(b"/hello")


def never_by_itself(server: Looping) -> Any:
    """Waits only for an event, and not for a second to pass."""
    select = server.worker.loop._selector.select
    return lambda _timeout: select(GUARD)
