"""How the tools of `tests.chaos.matrix` break a connection and a name server."""

import json
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.chaos.matrix import __main__ as matrix
from tests.chaos.matrix.breaking_clocks import OtherClock
from tests.chaos.matrix.fault import STEPS
from tests.chaos.matrix.faults import find_kinds
from tests.chaos.matrix.names import answer_to
from tests.chaos.matrix.record import Record
from tests.chaos.matrix.relay import SAID, Relay
from tests.chaos.matrix.trial import Outcome
from tests.chaos.matrix.verbs import VERBS
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that sends back what it receives."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    while piece := connection.recv(1000):
                        connection.sendall(piece)

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def relay(echo: int) -> Iterator[Relay]:
    made = Relay(echo)
    yield made
    made.close()


def say(relay: Relay, text: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", relay.port), timeout=60)
    connection.sendall(text)
    return connection


@pytest.mark.parametrize(("mode", "comes"), [("half", b"hel"), ("drip", b"h")])
def test_a_broken_relay_sends_a_part_of_the_answer(relay: Relay, mode: str, comes: bytes) -> None:
    relay.break_(mode)
    with say(relay, b"hello!") as connection:
        assert connection.recv(100) == comes
        relay.heal()
        rest = connection.recv(100)
    assert rest == {"half": b"", "drip": b"ello!"}[mode]
    with say(relay, b"well") as connection:
        assert connection.recv(100) == b"well"


def test_a_hanging_relay_accepts_connections_and_resumes(relay: Relay) -> None:
    relay.break_("hang")
    with say(relay, b"hello!") as connection:
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(100)
        relay.heal()
        connection.settimeout(60)
        assert connection.recv(100) == b"hello!"


def test_a_refusing_relay_ends_running_connections(relay: Relay) -> None:
    with say(relay, b"hello!") as connection:
        assert connection.recv(100) == b"hello!"
        relay.break_("refuse")
        assert connection.recv(100) == b""
    with pytest.raises(ConnectionRefusedError):
        say(relay, b"again")
    relay.heal()
    with say(relay, b"well") as connection:
        wait_until(lambda: connection.recv(100) == b"well")


@pytest.mark.parametrize("mode", ["garbage", "page", "elsewhere"])
def test_a_lying_relay_answers_something_else(relay: Relay, mode: str) -> None:
    relay.break_(mode)
    with say(relay, b"hello!") as connection:
        assert connection.recv(1000) == SAID[mode]
        relay.heal()
        connection.sendall(b"well")
        assert connection.recv(100) == b"well"


def test_an_endless_relay_never_stops_sending(relay: Relay) -> None:
    relay.break_("endless")
    with say(relay, b"hello!") as connection:
        read = connection.recv(1000)
        while len(read) < 2_000_000:
            read += connection.recv(100_000)
        assert read.startswith(SAID["endless"] + b"xxx")


@pytest.mark.parametrize(
    ("mode", "finds"),
    [("", ["127.0.0.1"]), ("slow", ["127.0.0.1"]), ("hang", None), ("failing", 2), ("unknown", 3), ("garbage", None)],
)
def test_the_name_server_gives_the_configured_answers(mode: str, finds: list[str] | int | None) -> None:
    """As a number if that is the code of the error."""
    question = b"ab\1\0\0\1\0\0\0\0\0\0" + b"\5redis\5chaos\4test\0" + b"\0\1\0\1"
    answer = answer_to(question, mode)
    if finds is None:
        assert not answer or answer[2:4] == b"\xff\xff"
    elif isinstance(finds, int):
        assert answer[3] & 0xF == finds
    else:
        assert [socket.inet_ntoa(answer[-4:])] == finds
        assert answer_to(question.replace(b"chaos", b"other"))[3] & 0xF == 3


@pytest.mark.parametrize("by", STEPS, ids=str)
def test_an_engine_with_another_clock_sends_shifted_timestamps_of_equal_length(by: timedelta) -> None:
    clock = OtherClock(by)
    text = b'{"time":1790000000,"timeNano":1790000000123456789,"StartedAt":"2026-11-23T10:00:00.5Z",'
    text += b'"Never":"0001-01-01T00:00:00Z"}'
    told = clock.answer(text)
    assert len(told) == len(text)
    said = json.loads(told)
    assert said["time"] == 1790000000 + by.total_seconds()
    assert said["timeNano"] == 1790000000123456789 + int(by.total_seconds()) * 10**9
    assert datetime.fromisoformat(said["StartedAt"]) == datetime(2026, 11, 23, 10, 0, 0, 500_000, UTC) + by
    assert said["Never"] == "0001-01-01T00:00:00Z"
    asked = clock.request(b"GET /events?since=1790000000 HTTP/1.1").split(b"since=")[1].split()[0]
    assert int(asked) == 1790000000 - by.total_seconds()


def test_a_broken_cell_fails_and_the_run_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "new_installation", lambda *_: nullcontext(Mock()))

    def break_down(_installation: object, _client: object, name: str, *_: object, **__: object) -> Outcome:
        if name == "second":
            raise KeyError("id")
        return Outcome(name, None, dict.fromkeys(VERBS, 200), 1.0, 2.0, [])

    monkeypatch.setattr(matrix, "take", break_down)
    record = Record(tmp_path / "record")
    tried = matrix.run(["first", "second", "third"], record, random.Random(), 30.0, "")
    assert [outcome.fault for outcome in tried] == ["first", "second"]  # the third gets another installation
    assert [outcome.wrong for outcome in record.outcomes()] == [[], ["stays broken: KeyError('id')"]]


def test_an_installation_that_cannot_start_fails_and_the_run_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix, "new_installation", Mock(side_effect=OSError("no room")))
    [outcome] = matrix.run(["first", "second"], Record(tmp_path / "record"), random.Random(), 30.0, "")
    assert outcome.fault == "first"
    assert outcome.wrong == ["not begun: OSError('no room')"]


def test_without_a_usual_engine_the_gateway_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/there-is-none.sock")
    assert "gateway" not in find_kinds()
