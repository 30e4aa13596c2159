"""A few faults of `tests.chaos.matrix`, by chance, each with every verb; and the tools of it."""

import os
import random
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.database.postgres import find_programs
from tests.chaos.matrix.faults import ELSEWHERE, FAULTS, STOPS, draw
from tests.chaos.matrix.names import answer_to
from tests.chaos.matrix.reader import choose, is_lie
from tests.chaos.matrix.record import Record
from tests.chaos.matrix.relay import GARBAGE, Relay
from tests.chaos.matrix.trial import Outcome
from tests.chaos.matrix.verbs import VERBS
from tests.chaos.matrix.witness import Sighting
from tests.chaos.sampling import try_sample
from tests.waiting import wait_until

PROCESSES = (
    "web worker",
    "watcher",
    "serve",
    "database",
    "engine",
    "mail",
    "telegram",
    "provider",
    "redis",
    "leader",
    "names",
    "gateway",
)


@pytest.mark.docker
@pytest.mark.timeout(600)
@pytest.mark.skipif(find_programs() is None, reason="PostgreSQL is not installed.")
@pytest.mark.skipif(os.geteuid() != 0, reason="Only root may make a network.")
def test_everything_survives_some_faults(tmp_path: Path) -> None:
    """The seed is in the output: `python -m tests.chaos.matrix --sample 2 --seed …` takes the same ones."""
    record = tmp_path / "record"
    try_sample("tests.chaos.matrix", "--record", str(record))
    assert len(Record(record).outcomes()) == 2


@pytest.mark.one_database
def test_every_process_is_killed_and_stopped_for_each_of_the_times() -> None:
    for process in PROCESSES:
        assert {f"{process}/kill", *(f"{process}/stop {seconds:.0f} s" for seconds in STOPS)} <= set(FAULTS)
    assert not set(FAULTS) & set(ELSEWHERE)


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("status", "was_running", "lies"),
    [
        ("running", [], False),
        ("running", [True, False], False),
        ("running", [False, False], True),
        ("degraded", [False], True),
        ("stopped", [True, True], True),
        ("failed", [True, False], False),
        ("unknown", [True], False),
        ("unknown", [False], False),
    ],
)
def test_a_status_lies_that_was_true_at_no_moment(status: str, was_running: list[bool], *, lies: bool) -> None:
    sightings = [Sighting(float(at), frozenset(["p"] if runs else [])) for at, runs in enumerate(was_running)]
    assert is_lie(status, "p", sightings) is lies


@pytest.mark.one_database
def test_a_read_is_held_against_its_time_and_the_sightings_on_both_sides() -> None:
    sightings = [Sighting(float(at), frozenset()) for at in range(10)]
    assert [sighting.at for sighting in choose(sightings, 3.5, 5.5)] == [3, 4, 5, 6]
    assert [sighting.at for sighting in choose(sightings, 3.2, 3.8)] == [3, 4]
    assert choose(sightings, -1.0, 5.0) == choose(sightings, 5.0, 20.0) == choose([], 1.0, 2.0) == []


@pytest.mark.one_database
def test_a_run_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    record = Record(tmp_path / "folder" / "record")
    first, second, *others = FAULTS
    assert record.todo() == list(FAULTS)
    statuses = dict.fromkeys(VERBS, 200)
    for fault, wrong in ((first, []), (second, ["stop: status 500"])):
        record.add(Outcome(fault, None, statuses, slowest=1.0, healed_after=2.0, wrong=wrong))
    assert record.todo() == [second, *others]
    table = record.table()
    assert f"| {first} | 1 | 0 | 1.0 s | 2.0 s |  | 0 |" in table
    assert f"16 of {8 * len(FAULTS)} cells" in table
    assert f"Not tried: {', '.join(others)}." in table


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that sends back what it gets."""
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


@pytest.mark.one_database
@pytest.mark.parametrize(("mode", "comes"), [("half", b"hel"), ("drip", b"h")])
def test_a_broken_relay_gives_a_part_of_the_answer(relay: Relay, mode: str, comes: bytes) -> None:
    relay.break_(mode)
    with say(relay, b"hello!") as connection:
        assert connection.recv(100) == comes
        relay.heal()
        rest = connection.recv(100)
    assert rest == {"half": b"", "drip": b"ello!"}[mode]
    with say(relay, b"well") as connection:
        assert connection.recv(100) == b"well"


@pytest.mark.one_database
def test_a_relay_that_hangs_takes_connections_and_goes_on_where_it_was(relay: Relay) -> None:
    relay.break_("hang")
    with say(relay, b"hello!") as connection:
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(100)
        relay.heal()
        connection.settimeout(60)
        assert connection.recv(100) == b"hello!"


@pytest.mark.one_database
def test_a_relay_that_refuses_ends_what_is_under_way(relay: Relay) -> None:
    with say(relay, b"hello!") as connection:
        assert connection.recv(100) == b"hello!"
        relay.break_("refuse")
        assert connection.recv(100) == b""
    with pytest.raises(ConnectionRefusedError):
        say(relay, b"again")
    relay.heal()
    with say(relay, b"well") as connection:
        wait_until(lambda: connection.recv(100) == b"well")


@pytest.mark.one_database
def test_a_relay_says_something_else(relay: Relay) -> None:
    relay.break_("garbage")
    with say(relay, b"hello!") as connection:
        assert connection.recv(100) == GARBAGE
        relay.heal()
        connection.sendall(b"well")
        assert connection.recv(100) == b"well"


@pytest.mark.one_database
def test_a_short_run_takes_faults_of_one_kind_of_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    every = {fault.kind for fault in FAULTS.values()}
    for there in (every, every - {"redis", "gateway"}):
        monkeypatch.setattr("tests.chaos.matrix.faults.find_kinds", lambda there=there: set(there))
        drawn = {frozenset(FAULTS[name].kind for name in draw(2, random.Random(seed))) for seed in range(200)}
        assert drawn == {frozenset({kind}) for kind in there - {"clock"}}


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("mode", "finds"),
    [("", ["127.0.0.1"]), ("hang", None), ("failing", 2), ("unknown", 3), ("garbage", None)],
)
def test_a_name_server_answers_as_it_is_told(mode: str, finds: list[str] | int | None) -> None:
    """As a number where that is the code of the error."""
    question = b"ab\1\0\0\1\0\0\0\0\0\0" + b"\5redis\5chaos\4test\0" + b"\0\1\0\1"
    answer = answer_to(question, mode)
    if finds is None:
        assert not answer or answer[2:4] == b"\xff\xff"
    elif isinstance(finds, int):
        assert answer[3] & 0xF == finds
    else:
        assert [socket.inet_ntoa(answer[-4:])] == finds
        assert answer_to(question.replace(b"chaos", b"other"))[3] & 0xF == 3
