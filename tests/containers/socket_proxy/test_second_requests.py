"""No byte of a second request reaches an engine, even if it keeps a connection open and does not hand it over."""

import gc
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from containers.socket_proxy import server
from containers.socket_proxy.routes import Rule
from containers.socket_proxy.streams import hands_over
from tests.containers.socket_proxy.kept_wire import (
    NOT_MADE,
    UPGRADE,
    KeptWire,
    ask_for_run,
    one_of_each,
    start,
    write,
)
from tests.containers.socket_proxy.wire import running_wire, status_of
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database
EVIL = write("POST", "/v1.41/containers/create", {"HostConfig": {"Privileged": True, "Binds": ["/:/h"]}})
JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
RAW = b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n"
MANY = b"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.multiplexed-stream\r\n\r\n"
MISSING = NOT_MADE.replace(b"409 Conflict", b"404 Not Found")
HOWS: dict[str, Callable[[bytes], list[bytes]]] = {
    "in one piece": lambda answer: [answer],
    "the body later": lambda answer: [*answer.partition(b"\r\n\r\n")],
    "byte by byte": lambda answer: [answer[:1], answer[1:20], answer[20:-1], answer[-1:]],
}


@pytest.fixture(scope="module")
def module_wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeptWire]:
    wire = KeptWire(tmp_path_factory.mktemp("kept"))
    with running_wire(wire.folder, wire=wire):
        yield wire


@pytest.fixture
def wire(module_wire: KeptWire) -> KeptWire:
    module_wire.settle()
    module_wire.came.clear()
    return module_wire


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("more", [UPGRADE, ""])
@pytest.mark.parametrize("answer", [NOT_MADE, MISSING, JSON])
def test_an_engine_that_starts_nothing_is_sent_nothing_more(wire: KeptWire, answer: bytes, more: str, how: str) -> None:
    wire.answers = HOWS[how](answer)
    ask_for_run(wire)
    assert wire.send(start(more) + EVIL) == answer
    ask_for_run(wire)
    with wire.connect() as stream:
        stream.sendall(start(more))
        came = b""
        while len(came) < len(answer):
            came += stream.recv(65536)
        with suppress(OSError):  # the proxy has closed it already
            stream.sendall(EVIL)
            while piece := stream.recv(65536):
                came += piece
    assert came == answer
    wire.settle()
    (sent,) = wire.came
    assert sent.endswith(b'{"Detach": false, "Tty": false}')
    assert b"close" in sent.partition(b"\r\n\r\n")[0]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(("answer", "more"), [(MANY, UPGRADE), (RAW, ""), (RAW, UPGRADE)])
def test_streams_that_are_handed_over_flow(wire: KeptWire, answer: bytes, more: str, how: str) -> None:
    wire.answers = HOWS[how](answer)
    ask_for_run(wire)
    with wire.connect() as stream:
        stream.sendall(start(more) + b"early ")
        came = b""
        while b"\r\n\r\n" not in came:
            came += stream.recv(65536)
        stream.sendall(b"late")
        wait_until(lambda: wire.came[0].endswith(b"}early late"))
    assert came == answer


def test_a_program_may_answer_long_after_the_end_of_what_it_reads(wire: KeptWire) -> None:
    """Nothing but the proxy itself keeps the tasks that wait for it, so a collection of garbage would end them."""
    wire.answers, wire.last_words = [MANY], None
    ask_for_run(wire)
    with wire.connect() as stream:
        stream.sendall(start() + b"all")
        assert stream.recv(65536) == MANY
        stream.shutdown(socket.SHUT_WR)
        wait_until(lambda: wire.came[0].endswith(b"}all"))
        for _ in range(50):
            time.sleep(0.01)
            gc.collect()
        wire.last_words = b"a late answer"
        assert stream.recv(65536) == b"a late answer"
        assert stream.recv(65536) == b""
    wire.last_words = b""


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 101 X", b"HTTP/1.1 100 Continue", b"HTTP/1.1 204 X", b"HTTP/1.1 200 OK", b"junk", b"",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\nContent-Length: 3",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\nContent-Type: text/plain",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\nTransfer-Encoding: chunked",
        b"HTTP/1.1 409 X\r\nContent-Type: application/vnd.docker.raw-stream",
    ],
)  # fmt: skip
def test_other_heads_hand_nothing_over(head: bytes) -> None:
    assert not hands_over(head + b"\r\n\r\n", upgrades=False)


def test_no_route_passes_a_second_request_on(wire: KeptWire) -> None:
    wire.answers = [NOT_MADE]
    for name, (rule, request) in one_of_each().items():
        if rule is Rule.RUN:
            ask_for_run(wire)
        wire.send(request + EVIL)
        wire.settle()
        assert len(wire.came) == 1, name
        assert b'Privileged": true' not in wire.came[0], name
        assert wire.came[0].partition(b"\r\n\r\n")[2] in request, name
        wire.came.clear()


def test_an_unreachable_engine_always_gives_the_same_answer(wire: KeptWire) -> None:
    """It gives no answer, as if there were no proxy in front of it."""
    engine, away = wire.folder / "engine", wire.folder / "away"
    ask_for_run(wire)
    engine.rename(away)
    try:
        assert {name: wire.send(request) for name, (_, request) in one_of_each().items()} == dict.fromkeys(
            one_of_each(), b""
        )
    finally:
        away.rename(engine)


@pytest.mark.parametrize("late", [b"GET /v1.41/_ping HTT", start()[:-1]])
def test_a_late_client_is_blamed_and_not_the_engine(
    wire: KeptWire, monkeypatch: pytest.MonkeyPatch, late: bytes
) -> None:
    monkeypatch.setattr(server, "HEAD_WITHIN", 0.05)
    with wire.connect() as stream:
        stream.sendall(late)
        assert status_of(stream.recv(1000)) == 408
