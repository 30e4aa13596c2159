"""The memory in which the processes of a web server share permits: nothing is lost, granted twice, or waited for."""

import os
import signal

import pytest

from accounts.throttling import shared_permits
from accounts.throttling.shared_permits import SharedPermits, Stock

pytestmark = pytest.mark.one_database
NOW = 29_000_000
MANY = 2000


@pytest.fixture
def shared() -> SharedPermits:
    return SharedPermits()


def take_all(shared: SharedPermits, subject: str = "x") -> int:
    taken = 0
    while shared.take(subject, NOW) is not None:
        taken += 1
    return taken


def test_what_was_added_is_taken_once_by_any_process(shared: SharedPermits) -> None:
    assert shared.open("x", NOW, limit=600) == Stock(0, 600)
    assert shared.add("x", NOW, more=MANY, remaining=580) == Stock(MANY, 580)
    outputs = []
    for _ in range(4):
        out, given = os.pipe()
        if os.fork() == 0:
            os.write(given, str(take_all(shared)).encode())
            os._exit(0)
        os.close(given)
        outputs.append(out)
    counts = []
    for out in outputs:
        with os.fdopen(out) as read:
            counts.append(int(read.read()))
        os.wait()
    # One that does not get the lock in time counts as empty-handed, and leaves what there is to the others.
    assert sum(counts) + take_all(shared) == MANY


def test_processes_that_add_and_take_at_once_lose_nothing(shared: SharedPermits) -> None:
    shared.open("x", NOW, limit=600)
    children = []
    for _ in range(3):
        if (child := os.fork()) == 0:
            done = 0
            while done < MANY:
                done += shared.add("x", NOW, more=1, remaining=600) is not None
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    assert take_all(shared) == 3 * MANY


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_ends_or_stands_still_with_the_lock_stops_nobody(
    shared: SharedPermits, end: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.open("x", NOW, limit=600)
    shared.add("x", NOW, more=5, remaining=580)
    if (child := os.fork()) == 0:
        shared._lock(shared_permits._find_place("x")[1])
        os.kill(os.getpid(), end)
        os._exit(0)
    os.waitpid(child, os.WUNTRACED)
    assert take_all(shared) == (5 if end is signal.SIGKILL else 0)
    if end is signal.SIGSTOP:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert take_all(shared) == 5


def test_each_minute_begins_with_nothing(shared: SharedPermits) -> None:
    shared.open("x", NOW, limit=600)
    shared.add("x", NOW, more=5, remaining=580)
    assert shared.take("x", NOW + 1) is None
    assert shared.open("x", NOW + 1, limit=600) == Stock(0, 600)
    assert shared.open("x", NOW, limit=600) is None  # a process whose minute is not over yet asks the count
    assert shared.open("x", NOW - 60, limit=600) == Stock(0, 600)  # the clock was set back


def test_two_in_one_place_do_not_share(shared: SharedPermits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_permits, "PLACES", 1)
    shared.open("x", NOW, limit=600)
    shared.add("x", NOW, more=5, remaining=580)
    assert shared.open("y", NOW, limit=600) is None
    assert shared.take("y", NOW) is None
    assert take_all(shared) == 5
