"""A request for past events gets their number, and details of Berth's own alone."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.containers.socket_proxy.wire import OURS, THEIRS, Wire, running_wire, status_of

pytestmark = pytest.mark.one_database
ASKED = b"GET /v1.41/events?since=1.5&until=2.5 HTTP/1.1\r\nHost: x\r\n\r\n"
OF_OTHERS = {"Type": "other"}


def event(identity: str, **labels: str) -> dict[str, Any]:
    return {"Type": "container", "Action": "die", "Actor": {"ID": identity, "Attributes": labels}, "timeNano": 1}


FIRST, LAST = event(OURS, **{"berth.instance": "berth"}), event(OURS, **{"berth.gateway": "berth", "name": "x"})
THEIR_EVENTS: list[dict[str, Any]] = [
    event(THEIRS, **{"com.docker.compose.service": "postgres"}),
    event(THEIRS, **{"berth.instance": "other"}),
    event(THEIRS, **{"berth.instance": "berth", "berth.rules": "berth"}),
    {"Type": "network", "Action": "connect", "Actor": {"ID": "2", "Attributes": {"container": OURS, "name": "their"}}},
    {"Type": "image", "Action": "pull", "Actor": {"ID": "their/image", "Attributes": None}},
    {"Type": "daemon", "Action": "reload", "Actor": {"ID": "3"}},
]


@pytest.fixture
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with running_wire(tmp_path_factory.mktemp("past")) as wire:
        yield wire


def in_chunks(*chunks: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in (*chunks, b""))


def test_events_of_others_are_counted_but_not_shown(wire: Wire) -> None:
    lines = "".join(f"{json.dumps(each)}\n" for each in (FIRST, *THEIR_EVENTS, LAST)).encode()
    wire.past = in_chunks(lines[:50], lines[50:777], lines[777:])
    head, _, body = wire.send(ASKED).partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert [json.loads(line) for line in body.splitlines()] == [FIRST, *([OF_OTHERS] * len(THEIR_EVENTS)), LAST]


def test_an_engine_without_events_returns_none(wire: Wire) -> None:
    assert wire.send(ASKED).endswith(b"Content-Length: 0\r\nConnection: close\r\n\r\n")


def test_a_refusal_is_passed_on(wire: Wire) -> None:
    wire.past = b'HTTP/1.1 400 Bad Request\r\nContent-Length: 15\r\n\r\n{"message":"x"}'
    answer = wire.send(ASKED)
    assert status_of(answer) == 400
    assert answer.endswith(b'\r\n\r\n{"message":"x"}')


@pytest.mark.parametrize(
    "past",
    [
        in_chunks(b'{"Type":"container","Actor":{}}\n')[:-3],
        in_chunks(b'{"Type":"container","Actor":{}}\n')[:-10],
        in_chunks(b"no JSON\n"),
        in_chunks(b"[]\n"),
        in_chunks(b'{"Type":"container"}\n'),
        in_chunks(*[b"x" * 65536] * 65),
        b"HTTP/1.1 200 OK\r\n\r\n{}",
        b"",
    ],
)
def test_an_incomplete_answer_is_an_error(wire: Wire, past: bytes) -> None:
    """Otherwise the caller would take the rest of a list for all of it."""
    wire.past, wire.keeps = past, False
    assert wire.send(ASKED) == b""
