"""When a failing engine is left alone, and which calls report it."""

import os
import time

import pytest

from containers.docker.engine import DockerEngine
from containers.docker_api import circuit_breaker, client
from containers.docker_api.circuit_breaker import FAILURES
from containers.docker_api.errors import EngineFailedError
from containers.errors import EngineError, EngineUnavailableError
from tests.containers.docker_api.calling import GUARD, LIMIT, VERBS
from tests.fakes.docker_socket import FaultySocket


def test_after_some_failures_the_engine_is_left_alone(daemon: FaultySocket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(circuit_breaker, "SHORT_PAUSE", circuit_breaker.PAUSE)  # no matter how slow this machine is
    engine = DockerEngine()
    engine.ping()
    daemon.mode = "close"
    for _ in range(FAILURES):
        with pytest.raises(EngineUnavailableError):
            engine.ping()
    asked = len(daemon.requests)
    daemon.mode = "answer"
    for verb in VERBS.values():
        with pytest.raises(EngineUnavailableError):
            verb(engine)
    assert len(daemon.requests) == asked


def test_all_calls_of_a_read_share_one_short_limit(daemon: FaultySocket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "CALL_LIMIT", 3600.0)
    monkeypatch.setattr(client, "READ_DEADLINE", LIMIT)
    engine = DockerEngine()
    engine.ping()
    daemon.mode = "hang"
    began = time.monotonic()
    with engine.read_deadline():
        for _ in range(FAILURES):
            with pytest.raises(EngineUnavailableError):
                engine.observe({})
    assert time.monotonic() - began < GUARD


def test_reads_that_fail_leave_commands_alone(daemon: FaultySocket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "READ_DEADLINE", LIMIT)
    monkeypatch.setattr(circuit_breaker, "SHORT_PAUSE", circuit_breaker.PAUSE)
    engine = DockerEngine()
    engine.ping()
    daemon.mode = "hang"
    for _ in range(FAILURES):
        with engine.read_deadline(), pytest.raises(EngineUnavailableError):
            engine.observe({})
    daemon.mode = "answer"
    asked = len(daemon.requests)
    with engine.read_deadline(), pytest.raises(EngineUnavailableError):
        engine.observe({})
    assert len(daemon.requests) == asked
    engine.ping()


def test_a_timeout_of_a_caller_with_little_time_left_does_not_blame_the_engine(
    daemon: FaultySocket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that kept a command waiting has used up the time, and not the engine."""
    engine = DockerEngine()
    engine.ping()
    daemon.mode = "hang"
    for _ in range(2 * FAILURES):
        with engine.deadline(LIMIT), pytest.raises(EngineUnavailableError):
            engine.ping()
    daemon.mode = "answer"
    engine.ping()


def test_a_short_time_does_not_close_a_breaker_either(daemon: FaultySocket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(circuit_breaker, "PAUSE", 0.0)
    engine = DockerEngine()
    engine.ping()
    daemon.mode = "close"
    for _ in range(FAILURES):
        with pytest.raises(EngineUnavailableError):
            engine.ping()
    daemon.mode = "hang"
    with engine.deadline(LIMIT), pytest.raises(EngineUnavailableError):
        engine.ping()
    assert engine._connection._states[os.getpid()].breaker.is_open


def test_refusals_do_not_open_the_breaker(daemon: FaultySocket) -> None:
    daemon.status, daemon.body = 500, b'{"message": "one bad container"}'
    engine = DockerEngine()
    for _ in range(2 * FAILURES):
        with pytest.raises(EngineFailedError):
            engine.inspect("x")
    daemon.script["GET /containers/json"] = [("answer", 200, b"[]")]
    daemon.status, daemon.body = 404, b'{"message": "No such container: berth-x"}'
    assert engine.inspect("x") is None


def test_a_forked_process_creates_a_separate_client(daemon: FaultySocket) -> None:
    engine = DockerEngine()
    engine.ping()
    child = os.fork()
    if child == 0:
        try:
            engine.ping()
            os._exit(0)
        except EngineError:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert len([request for request in daemon.requests if "/version" in request]) == 2
