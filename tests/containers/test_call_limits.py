"""A connection to a server that takes none keeps the time limit of its call."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from containers import call_limits
from containers.call_limits import connect, time_limit

pytestmark = pytest.mark.one_database

LIMIT, GUARD = 0.1, 40.0


@pytest.fixture
def full_port() -> Iterator[int]:
    """Of a server whose queue is full: the kernel answers no further client."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def test_a_connect_keeps_the_time_limit(full_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_limits, "CONNECT_TIMEOUT", 2 * GUARD)
    began = time.monotonic()
    with time_limit(LIMIT), pytest.raises(TimeoutError):
        connect("127.0.0.1", full_port)
    assert LIMIT <= time.monotonic() - began < GUARD


def test_without_one_it_has_its_own(full_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_limits, "CONNECT_TIMEOUT", LIMIT)
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        connect("127.0.0.1", full_port)
    assert LIMIT <= time.monotonic() - began < GUARD
