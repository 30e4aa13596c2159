"""An engine that is broken in every way we know: one of our errors each time, and never a long wait."""

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from containers.docker.engine import DockerEngine
from containers.docker_api import breaker, client
from containers.docker_api.breaker import FAILURES
from containers.docker_api.errors import EngineFailedError
from containers.errors import EngineError, EngineUnavailableError
from containers.vocabulary import ContainerSpec
from tests.fakes.docker_socket import FaultySocket, faulty_socket

LIMIT = 0.3
GUARD = 15.0
"""Seconds: far above every limit here, far below what the faults would take without one."""

SPEC = ContainerSpec(
    name="berth-x", image="berth/x", labels={"berth.instance": "berth", "berth.project": "x"}, generation=1,
    environment={}, secrets={}, memory=1, nano_cpus=1, pids=1, stop_timeout=1,
)  # fmt: skip
VERBS: dict[str, Callable[[DockerEngine], object]] = {
    "ping": lambda engine: engine.ping(),
    "image_exists": lambda engine: engine.image_exists("x"),
    "deploy": lambda engine: engine.deploy(SPEC, confirm=lambda: True),
    "stop": lambda engine: engine.stop("x", timeout=1),
    "remove": lambda engine: engine.remove("x", volumes=True),
    "inspect": lambda engine: engine.inspect("x"),
    "observe": lambda engine: engine.observe({}),
    "list_volumes": lambda engine: engine.list_volumes({}),
    "logs": lambda engine: list(engine.logs("x")),
    "stats": lambda engine: engine.stats("x"),
    "events": lambda engine: list(engine.events({}, timeout=0.3)),
}


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultySocket]:
    monkeypatch.setattr(client, "CALL_LIMIT", LIMIT)
    with faulty_socket(tmp_path) as server:
        monkeypatch.setenv("DOCKER_HOST", server.url)
        yield server


# A stream of events may take its time, byte by byte: it is no call that somebody waits for.
PAIRS = [
    (mode, verb)
    for mode in ("hang", "drip", "drip-head", "cut", "close")
    for verb in VERBS
    if (mode, verb) != ("drip", "events")
]


@pytest.mark.parametrize(("mode", "verb"), PAIRS)
def test_a_silent_engine_is_unavailable_in_bounded_time(daemon: FaultySocket, mode: str, verb: str) -> None:
    daemon.mode, daemon.body = mode, json.dumps({"x": "y" * 400}).encode()
    began = time.monotonic()
    with pytest.raises(EngineUnavailableError):
        VERBS[verb](DockerEngine())
    assert time.monotonic() - began < GUARD


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "ping"])
@pytest.mark.parametrize(
    "body", [b"<html>", b'{"half":', b"null", b"[]", b"[1]", b"{}", b'"text"', b'{"State": 1}', b""]
)
def test_nonsense_is_no_answer(daemon: FaultySocket, body: bytes, verb: str) -> None:
    daemon.body = body
    try:
        said = VERBS[verb](DockerEngine())
    except EngineUnavailableError:
        return
    assert (verb, body, said) == ("observe", b"[]", [])


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("body", [b'{"message": "no luck"}', b"<html>bad gateway</html>", b"[]", b"null", b""])
def test_a_failing_engine_says_nothing_about_containers(daemon: FaultySocket, body: bytes, verb: str) -> None:
    daemon.status, daemon.body = 500, body
    with pytest.raises(EngineFailedError):
        VERBS[verb](DockerEngine())


@pytest.mark.parametrize("verb", VERBS)
def test_an_absent_engine_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    with pytest.raises(EngineUnavailableError):
        VERBS[verb](DockerEngine())


def test_an_engine_over_tcp_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    with pytest.raises(EngineUnavailableError):
        DockerEngine().ping()


def test_a_client_of_an_unknown_kind_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "carrier-pigeon://roof")
    with pytest.raises(EngineUnavailableError):
        DockerEngine().ping()


def test_after_some_failures_the_engine_is_left_alone(daemon: FaultySocket) -> None:
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


def test_a_read_deadline_gives_all_its_calls_together_one_short_limit(
    daemon: FaultySocket, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_caller_who_has_hardly_any_time_left_says_nothing_about_the_engine(
    daemon: FaultySocket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that kept a command waiting has taken its time, and not the engine."""
    engine = DockerEngine()
    engine.ping()
    daemon.mode = "hang"
    for _ in range(2 * FAILURES):
        with engine.deadline(LIMIT), pytest.raises(EngineUnavailableError):
            engine.ping()
    daemon.mode = "answer"
    engine.ping()


def test_a_short_time_does_not_close_a_breaker_either(daemon: FaultySocket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breaker, "PAUSE", 0.0)
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


def test_a_forked_process_makes_a_client_of_its_own(daemon: FaultySocket) -> None:
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
