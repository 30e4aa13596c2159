"""An engine that is about to end still answers on open connections, which says nothing about its containers."""

import json
import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

import pytest

from containers.docker.engine import DockerEngine
from containers.docker.shutdown import unless_it_ends
from containers.docker_api import client
from containers.docker_api.circuit_breaker import FAILURES
from containers.docker_api.client import Connection
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.outbound.call_limits import time_limit
from tests.containers.docker.scripted_engine import ID, SPEC
from tests.fakes.docker_socket import FaultySocket
from tests.fakes.listening import accept_each, stop_listening

pytestmark = pytest.mark.one_database


def deploy(engine: DockerEngine) -> None:
    engine.deploy(SPEC, confirm=lambda: True)


def take_none(daemon: FaultySocket) -> socket.socket:
    stop_listening(daemon._server)
    return socket.socket()


def hold_open(daemon: FaultySocket) -> socket.socket:
    """Behaves like systemd: new connections wait for the next engine."""
    daemon.path.unlink()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(daemon.path))
    listener.listen()
    return listener


def take_and_hang_up(daemon: FaultySocket) -> socket.socket:
    """Behaves like our socket proxy, which accepts each connection."""
    listener = hold_open(daemon)
    Thread(target=accept_each, args=(listener, socket.socket.close), daemon=True).start()
    return listener


def have_a_proxy_say_so(daemon: FaultySocket) -> socket.socket:
    daemon.script["GET /_ping"] = [("answer", 503, b"")]
    return socket.socket()


@pytest.fixture
def refusing(daemon: FaultySocket) -> DockerEngine:
    """It is connected, and keeps refusing a start."""
    engine = DockerEngine()
    refusal = json.dumps({"message": "the engine is shutting down"}).encode()
    daemon.script[f"POST /containers/{ID}/start"] = [("answer", 403, refusal)]
    engine.ping()
    with pytest.raises(EngineRefusedError):
        deploy(engine)
    return engine


@pytest.mark.parametrize("ask", [DockerEngine.ping, DockerEngine.started_at, deploy])
@pytest.mark.parametrize("end", [take_none, hold_open, take_and_hang_up, have_a_proxy_say_so])
def test_an_engine_that_accepts_no_new_connection_is_unavailable(
    end: Callable[[FaultySocket], socket.socket],
    ask: Callable[[DockerEngine], object],
    daemon: FaultySocket,
    refusing: DockerEngine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its agents have not ended by themselves, and it would start them if it continued."""
    monkeypatch.setattr(client, "CALL_LIMIT", 1.0)
    listener = end(daemon)
    try:
        assert refusing.look_up(ID) is None  # it answers
        with pytest.raises(EngineUnavailableError):
            ask(refusing)
    finally:
        stop_listening(listener)


@pytest.fixture
def silent_lately(daemon: FaultySocket) -> Connection:
    connection = Connection()
    for _ in range(FAILURES):
        with suppress(EngineUnavailableError), connection.call():
            raise ConnectionError
    return connection


def test_a_refusal_stays_a_refusal_without_a_retry(silent_lately: Connection) -> None:
    with pytest.raises(EngineRefusedError), unless_it_ends(silent_lately):
        raise EngineRefusedError


@pytest.mark.parametrize("left", [-1.0, 0.0, 20.0])
def test_a_refusal_stays_a_refusal_for_any_remaining_time(left: float, daemon: FaultySocket) -> None:
    connection = Connection()
    with connection.call() as known:
        known.ping()
    with pytest.raises(EngineRefusedError), time_limit(left), unless_it_ends(connection):
        raise EngineRefusedError
