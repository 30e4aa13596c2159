"""An engine that answers in every hostile way: one of our errors, in bounded time and memory."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from containers.docker_api import client, logs
from containers.docker_api.client import Connection
from containers.docker_api.errors import TOO_LARGE
from containers.docker_api.logs import log_params, read_lines
from containers.errors import EngineError, EngineUnavailableError
from tests.certificates import make_authority
from tests.fakes.docker_socket import FaultySocket, faulty_socket
from tests.fakes.hostile_answers import COMPRESSED, NEVER_ENDING, SHAPES, redirect
from tests.fakes.hostile_server import HostileServer
from tests.memory import measure_memory

LIMIT = 0.05
GUARD = 60.0
"""Seconds: far above the limit here, far below what the hostile answers would take without one."""

ANSWER_SIZE, MOST_MEMORY = 1024 * 1024, 6 * 1024 * 1024
"""Bytes: an answer of the permitted size is copied on its way. A bomb would take fifty million, and its copies."""

Call = Callable[[Any], object]
WITH_ANSWER: dict[str, Call] = {
    "inspect_container": lambda engine: engine.inspect_container("x"),
    "inspect_image": lambda engine: engine.inspect_image("x"),
    "inspect_network": lambda engine: engine.inspect_network("x"),
    "inspect_volume": lambda engine: engine.inspect_volume("x"),
    "containers": lambda engine: engine.containers(all=True),
    "volumes": lambda engine: engine.volumes(),
    "stats": lambda engine: engine.stats("x", stream=False, one_shot=True),
    "create": lambda engine: engine.create_container_from_config({}, "x"),
}
"""Calls whose JSON answer is used."""

WITHOUT_ANSWER: dict[str, Call] = {
    "ping": lambda engine: engine.ping(),
    "create_network": lambda engine: engine.create_network_from({}),
    "put_archive": lambda engine: engine.put_archive("x", "/", b"tar"),
    "start": lambda engine: engine.start("x"),
    "stop": lambda engine: engine.stop("x", timeout=0),
    "unpause": lambda engine: engine.unpause("x"),
    "remove_container": lambda engine: engine.remove_container("x"),
    "remove_volume": lambda engine: engine.remove_volume("x"),
}
"""Calls of which only the status counts."""

VALID = {
    "early hints",
    "a byte order mark",
    "a text",
    "a list",
    "null",
    "headers that are none",
    "thousands of headers",
}
"""Shapes that are valid JSON after all, or that the readers of the value distinguish."""


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultySocket]:
    with faulty_socket(tmp_path) as server:
        monkeypatch.setenv("DOCKER_HOST", server.url)
        server.body = json.dumps({"Id": "c" * 64, "message": "x"}).encode()
        yield server


@pytest.fixture
def connection(daemon: FaultySocket) -> Connection:
    """A connection whose client already knows the engine's version."""
    connection = Connection()
    with connection.call() as engine:
        engine.ping()
    return connection


@pytest.mark.sampled(4)
@pytest.mark.parametrize("call", [*WITH_ANSWER, *WITHOUT_ANSWER])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_hostile_answer_is_an_engine_error_in_bounded_time(
    daemon: FaultySocket, connection: Connection, monkeypatch: pytest.MonkeyPatch, shape: str, call: str
) -> None:
    monkeypatch.setattr(client, "CALL_LIMIT", LIMIT if shape in NEVER_ENDING else GUARD)
    daemon.mode = shape
    began = time.monotonic()
    is_refused = False
    try:
        with connection.call() as engine:
            {**WITH_ANSWER, **WITHOUT_ANSWER}[call](engine)
    except EngineError:
        is_refused = True
    assert time.monotonic() - began < GUARD
    assert is_refused or shape not in {**NEVER_ENDING, **COMPRESSED} or shape == "gzip as transfer"
    assert is_refused or call in WITHOUT_ANSWER or shape in VALID or shape == "two lengths"


@pytest.mark.parametrize("shape", [*COMPRESSED, *(shape for shape in NEVER_ENDING if shape.startswith("endless"))])
def test_no_answer_fills_the_memory(daemon: FaultySocket, connection: Connection, shape: str) -> None:
    daemon.mode = shape
    with measure_memory() as peak, pytest.raises(EngineUnavailableError), connection.call(size=ANSWER_SIZE) as engine:
        engine.containers(all=True)
    assert peak.bytes < MOST_MEMORY


def test_an_answer_that_is_too_large_is_an_error(daemon: FaultySocket, connection: Connection) -> None:
    daemon.mode = "endless body"
    with pytest.raises(EngineUnavailableError, match=TOO_LARGE), connection.call() as engine:
        engine.containers(all=True)


def test_a_refusal_may_be_as_hostile(daemon: FaultySocket, connection: Connection) -> None:
    daemon.status = 409
    for body in (b"[" * 100_000, b'{"message": %s}' % (b"9" * 5000), b'{"message": {"a": 1}}', b"\xff", b'"x"'):
        daemon.body = body
        with pytest.raises(EngineError), connection.call() as engine:
            engine.start("x")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("scheme", ["http", "https", "http+docker"])
def test_no_redirect_is_followed(monkeypatch: pytest.MonkeyPatch, scheme: str, status: int) -> None:
    with HostileServer() as daemon, HostileServer() as other:
        monkeypatch.setenv("DOCKER_HOST", daemon.url.replace("http://", "tcp://"))
        daemon.shapes["/version"] = lambda good: iter((b'HTTP/1.1 200 X\r\n\r\n{"ApiVersion": "1.41"}',))
        daemon.shapes["/start"] = redirect(other.url.replace("http", scheme, 1), status)
        with pytest.raises(EngineUnavailableError), Connection().call() as engine:
            engine.start("x")
        assert other.requests == []
        assert len(daemon.requests) == 2


@pytest.mark.parametrize("shape", sorted(NEVER_ENDING))
def test_a_log_that_is_not_followed_has_one_deadline(
    daemon: FaultySocket, connection: Connection, monkeypatch: pytest.MonkeyPatch, shape: str
) -> None:
    monkeypatch.setattr(client, "CALL_LIMIT", LIMIT)
    monkeypatch.setattr(logs, "WHOLE_LIMIT", LIMIT)
    daemon.mode = shape
    began = time.monotonic()
    params = log_params(tail=None, since=None, follow=False)
    with pytest.raises(EngineUnavailableError):  # noqa: PT012 - the stream is opened and read, and either may fail
        with connection.call() as engine:
            response = engine.open_stream("/containers/{0}/logs", "x", params=params, silence=GUARD)
        for _ in read_lines(response):
            pass
    assert time.monotonic() - began < GUARD


@pytest.mark.parametrize("shape", ["a byte now and then", "endless headers", "gzip bomb", "half, then silence"])
def test_limits_hold_over_tls_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: str) -> None:
    authority = make_authority(tmp_path)
    (tmp_path / "ca.pem").write_bytes(authority.certificate.read_bytes())
    (tmp_path / "cert.pem").write_bytes(authority.certificate.read_bytes())
    (tmp_path / "key.pem").write_bytes(authority.key.read_bytes())
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", str(tmp_path))
    with HostileServer(authority.server_context()) as daemon:
        monkeypatch.setenv("DOCKER_HOST", daemon.url.replace("https://", "tcp://"))
        daemon.shapes["/version"] = lambda good: iter((b'HTTP/1.1 200 X\r\n\r\n{"ApiVersion": "1.41"}',))
        connection = Connection()
        with connection.call() as engine:
            assert engine.inspect_container("x")["ok"]
        monkeypatch.setattr(client, "CALL_LIMIT", LIMIT)
        daemon.shapes["/json"] = SHAPES[shape]
        began = time.monotonic()
        with pytest.raises(EngineUnavailableError), connection.call() as engine:
            engine.inspect_container("x")
        assert time.monotonic() - began < GUARD
