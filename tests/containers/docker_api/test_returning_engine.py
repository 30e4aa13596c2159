"""Reports are followed again soon after an engine that was away returns."""

import socket
import struct
import time
from collections.abc import Iterator

import pytest

from containers.agent_contract import STATUS_MARK
from containers.docker_api.report_streams import REST, ReportStreams
from containers.errors import EngineUnavailableError
from tests.waiting import wait_until

AWAY = 1.2
"""Seconds. More than one attempt takes, and much less than `REST`."""
LINE = f"2026-11-28T10:00:00Z {STATUS_MARK}{{}}\n".encode()
LOG = b"HTTP/1.0 200 OK\r\n\r\n" + struct.pack(">BxxxL", 1, len(LINE)) + LINE


class Engine:
    """Is away until it answers, and sends a report in every log that is opened."""

    def __init__(self) -> None:
        self.answers = False
        self.attempts = 0
        self.logs: list[socket.socket] = []

    def connect(self) -> tuple[socket.socket, str]:
        self.attempts += 1
        if not self.answers:
            raise EngineUnavailableError
        ours, theirs = socket.socketpair()
        ours.sendall(LOG)
        self.logs.append(ours)
        return theirs, "1.41"

    def end(self) -> None:
        """Its connections are reset, because it has not read the requests."""
        self.answers = False
        while self.logs:
            self.logs.pop().close()


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = Engine()
    yield made
    made.end()


@pytest.fixture
def streams(engine: Engine) -> Iterator[ReportStreams]:
    found = ReportStreams(engine.connect)
    found.follow({f"container {number}": f"agent {number}" for number in range(5)})
    yield found
    found.close()


def wait_for_all(streams: ReportStreams) -> float:
    """Returns the seconds until every agent's report has arrived."""
    began, heard = time.monotonic(), set[str]()

    def hears_all() -> bool:
        heard.update(streams.wait(1))
        return len(heard) == 5

    wait_until(hears_all, within=60, every=0)
    return time.monotonic() - began


def stay_away(streams: ReportStreams) -> None:
    until = time.monotonic() + AWAY
    while time.monotonic() < until:
        assert not streams.wait(1)


def test_all_logs_are_followed_soon_after_the_engine_returned(engine: Engine, streams: ReportStreams) -> None:
    stay_away(streams)
    engine.answers = True
    assert wait_for_all(streams) < REST / 2


def test_logs_reset_by_the_engine_are_followed_again_soon(engine: Engine, streams: ReportStreams) -> None:
    engine.answers = True
    wait_for_all(streams)
    engine.end()
    stay_away(streams)
    engine.answers = True
    assert wait_for_all(streams) < REST / 2


def test_one_attempt_at_a_time_is_made_while_the_engine_is_away(engine: Engine, streams: ReportStreams) -> None:
    stay_away(streams)
    assert engine.attempts <= 4
