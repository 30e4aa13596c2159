"""The loop of the web server: deadlines, limits, and which threads wait for what."""

import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from config.middleware import ARRIVED_AT, current_request_id
from config.serving import clients as clients_module
from config.serving import unsent
from config.serving.clients import Clients
from tests.config.serving.looping import GUARD, Looping, read_all
from tests.waiting import wait_until

LAST = b"GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
LARGE = b"x" * 12_000_000
"""More than the kernel takes for a client that does not read."""


class Site:
    """The application of these tests."""

    def __init__(self) -> None:
        self.hold = threading.Event()
        self.threads: list[str] = []
        self.bodies: list[bytes] = []
        self.held_paths = {"/held"}
        self.arrivals: list[float] = []

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        self.threads.append(threading.current_thread().name)
        self.arrivals.append(environ[ARRIVED_AT])
        if path in self.held_paths:
            self.hold.wait(GUARD)
        if path == "/body":
            self.bodies.append(environ["wsgi.input"].read())
        if path == "/broken":
            raise ZeroDivisionError("outside of all that handles errors")
        if path == "/odd":
            start_response("200 OK", [("X-Odd", "a\r\nb")])
        if path == "/stream":
            start_response("200 OK", [("Content-Type", "text/event-stream; charset=utf-8")])
            return self.stream()
        body = LARGE if path == "/large" else path.encode()
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]

    def stream(self) -> Iterator[bytes]:
        yield b"data: one\n\n"
        self.threads.append(threading.current_thread().name)
        self.hold.wait(GUARD)
        yield b"data: two\n\n"


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def server(site: Site) -> Iterator[Looping]:
    running = Looping(site)
    yield running
    site.hold.set()
    running.hang_up()
    running.stop()


@pytest.fixture
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deadlines end at the next look."""
    for name in ("HEAD_WITHIN", "BODY_WITHIN", "LINGER"):
        monkeypatch.setattr(clients_module, name, 0.01)
    monkeypatch.setattr(unsent, "STALL", 0.01)


@pytest.fixture
def hasty(_hasty: None, server: Looping) -> Looping:
    """A server whose deadlines are that short."""
    return server


def status_of(answer: bytes) -> int:
    return int(answer.split()[1])


def test_an_answer_comes_and_the_connection_goes_on(server: Looping) -> None:
    client = server.connect()
    for path in (b"/one", b"/two"):
        client.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = client.recv(65536)
        while not answer.endswith(path):
            answer += client.recv(65536)
    client.sendall(LAST)
    assert read_all(client).endswith(b"/hello")


def test_requests_sent_at_once_are_answered_one_after_the_other(server: Looping) -> None:
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


def test_a_client_that_waits_is_told_to_go_on_once(server: Looping) -> None:
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
def test_half_a_request_is_answered_408_after_its_deadline(hasty: Looping, begun: bytes) -> None:
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


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n", 413),
        (b"GET /x HTTP/1.1\r\nA: " + b"x" * 40_000, 431),
        (b"GET / HTTP/1.1\n\n", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"GET /x HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n", 400),
    ],
)
def test_what_is_no_request_is_refused(server: Looping, request_: bytes, status: int) -> None:
    assert status_of(server.ask(request_)) == status


SECRET = b"berth-session=7h3s3cr3tofacookie"
UNREADABLE: dict[str, tuple[bytes, int]] = {
    "a header without a colon": (b"GET / HTTP/1.1\r\nHost: x\r\nCookie " + SECRET + b"\r\n\r\n", 400),
    "a header with a blank": (b"GET / HTTP/1.1\r\nHost: x\r\nCookie : " + SECRET + b"\r\n\r\n", 400),
    "a header with a NUL": (b"GET / HTTP/1.1\r\nHost: x\r\nCookie: \x00" + SECRET + b"\r\n\r\n", 400),
    "a folded header": (b"GET / HTTP/1.1\r\nHost: x\r\nCookie: a\r\n " + SECRET + b"\r\n\r\n", 400),
    "an unknown version": (b"GET / HTTP/1.1 " + SECRET + b"\r\n\r\n", 400),
    "no method": (b"<script>" + SECRET + b" / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "no request line": (SECRET + b"\r\n\r\n", 400),
    "a long address": (b"GET /" + SECRET + b"a" * 5_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
    "two hundred headers": (
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: 1\r\n" % number for number in range(200)) + b"\r\n",
        431,
    ),
    "a large head": (b"GET / HTTP/1.1\r\nA: " + b"a" * 40_000, 431),
    "an unknown coding": (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: zip, chunked\r\n\r\n0\r\n\r\n", 501),
    "a chunk of no size": (
        b"POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\n\r\n0\r\n\r\n",
        400,
    ),
    "an error of the application": (b"GET /broken HTTP/1.1\r\nHost: x\r\nCookie: " + SECRET + b"\r\n\r\n", 500),
    "a header that cannot be sent": (b"GET /odd HTTP/1.1\r\nHost: x\r\nCookie: " + SECRET + b"\r\n\r\n", 500),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_refusal_is_a_problem_that_quotes_nothing(
    server: Looping, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """gunicorn's own pages quoted the request, and could be kept and guessed to be of another type. So did its log."""
    caplog.set_level(logging.DEBUG)
    request, status = UNREADABLE[name]
    answer = server.ask(request)
    assert status_of(answer) == status
    head, _, body = answer.partition(b"\r\n\r\n")
    headers = {line.partition(b":")[0].lower(): line.partition(b":")[2].strip() for line in head.split(b"\r\n")[1:]}
    assert headers[b"content-type"] == b"application/problem+json"
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"cache-control"] == b"no-store"
    problem = json.loads(body)
    assert (problem["status"], problem["request_id"]) == (status, headers[b"x-request-id"].decode())
    assert SECRET.split(b"=")[1] not in answer
    assert SECRET.decode().split("=")[1] not in caplog.text


def test_a_refusal_is_logged_under_an_id_of_its_own(server: Looping, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads serve one request after the other, and the log once named the one before."""
    told: list[str] = []
    monkeypatch.setattr(server.worker.log, "warning", lambda *_: told.append(current_request_id()))
    for _ in range(4):  # more than there are threads
        answer = server.ask(b"nonsense\r\n\r\n")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["request_id"] == told[-1]
    assert len(set(told)) == 4


def test_a_body_that_is_too_large_is_refused_while_it_comes(server: Looping) -> None:
    """The client sends on and still sees the answer: the connection is not reset."""
    client = server.connect(b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n")
    client.sendall(b"x" * 4_000_000)
    assert status_of(read_all(client)) == 200  # that is for the application to refuse: it has seen the length


def test_too_many_connections_cost_the_oldest(server: Looping, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients_module, "CONNECTIONS", 10)
    clients = []
    for number in range(30):
        clients.append(server.connect(b"GET /"))
        server.wait_for_connections(min(number + 1, 10))
    assert server.ask(LAST).endswith(b"/hello")
    assert all(client.recv(1) == b"" for client in clients[:20])
    clients[-1].sendall(b"last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert read_all(clients[-1]).endswith(b"/last")


def test_a_connection_that_is_being_answered_is_never_sacrificed(
    server: Looping, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients_module, "CONNECTIONS", 1)
    held = server.connect(b"GET /held HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    wait_until(lambda: site.threads)
    assert server.ask(b"") == b""  # there is nothing to close but the newcomer
    site.hold.set()
    assert read_all(held).endswith(b"/held")


def test_those_who_do_not_read_hold_no_thread_and_little_memory(
    server: Looping, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unsent, "UNSENT_LIMIT", 2 * len(LARGE))
    for _ in range(12):
        server.connect(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n", receive_buffer=4096)
    assert server.ask(LAST).endswith(b"/hello")
    wait_until(lambda: sum(each.unsent for each in tuple(server.worker.clients.connections)) <= 2 * len(LARGE))


def test_one_who_reads_slowly_gets_everything(server: Looping) -> None:
    client = server.connect(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", receive_buffer=4096)
    wait_until(lambda: any(each.unsent for each in tuple(server.worker.clients.connections)))
    assert read_all(client).endswith(LARGE)


def test_one_who_takes_nothing_for_too_long_is_left(hasty: Looping, site: Site) -> None:
    hasty.connect(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n", receive_buffer=4096)
    wait_until(lambda: site.threads)
    hasty.wait_for_connections(0)


def test_event_streams_keep_no_thread_of_requests(server: Looping, site: Site) -> None:
    streams = [server.connect(b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n") for _ in range(5)]
    for stream in streams:
        received = b""
        while b"data: one" not in received:
            received += stream.recv(65536)
    assert server.ask(LAST).endswith(b"/hello")
    site.hold.set()
    for stream in streams:
        assert b"data: two" in stream.recv(65536)
    assert sum(name.startswith("stream") for name in site.threads) == 5


def test_a_stop_waits_for_what_was_begun_and_for_nobody_else(server: Looping, site: Site) -> None:
    silent = server.connect()
    held = server.connect(b"GET /held HTTP/1.1\r\nHost: x\r\n\r\n")
    wait_until(lambda: site.threads)
    server.worker.loop.call_soon(site.hold.set)
    server.stop()
    assert read_all(held).endswith(b"/held")
    assert silent.recv(1) == b""


def test_an_error_with_one_connection_does_not_end_the_loop(
    server: Looping, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def break_down(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patched, caplog.at_level(logging.ERROR):
        patched.setattr(Clients, "_advance", break_down)
        server.connect(LAST)
        wait_until(lambda: "goes on" in caplog.text)
    assert server.ask(LAST).endswith(b"/hello")


def test_health_checks_wait_for_no_thread_that_others_hold(server: Looping, site: Site) -> None:
    for _ in range(20):
        server.connect(b"GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n")
    wait_until(lambda: len(site.threads) >= 2)
    for path in (b"/healthz", b"/readyz", b"/healthz?probe=1"):
        for method in (b"GET", b"HEAD"):
            answer = server.ask(method + b" " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert status_of(answer) == 200
    assert {name.partition("_")[0] for name in site.threads[2:]} == {"/healthz", "/readyz"}


def test_a_check_of_readiness_that_hangs_keeps_none_of_life_waiting(server: Looping, site: Site) -> None:
    site.held_paths.add("/readyz")
    server.connect(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    wait_until(lambda: len(site.threads) >= 1)
    assert status_of(server.ask(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")) == 200


def test_the_application_is_told_when_the_request_came(server: Looping, site: Site) -> None:
    """It may have waited for a thread, which is part of the time that its answer may take."""
    for _ in range(2):
        server.connect(b"GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n")
    wait_until(lambda: len(site.threads) >= 2)
    before = time.monotonic()
    waiting = server.connect(LAST)
    wait_until(lambda: server.worker.threads._work_queue.qsize() == 1)
    after = time.monotonic()
    site.hold.set()
    assert status_of(read_all(waiting)) == 200
    assert before <= site.arrivals[-1] <= after
