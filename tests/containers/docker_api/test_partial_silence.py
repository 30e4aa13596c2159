"""An engine that never answers some requests and answers all others is not taken for a silent one."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from containers.docker_api import failed_calls
from containers.docker_api.circuit_breaker import FAILURES
from containers.docker_api.client import Connection
from containers.errors import EngineUnavailableError
from tests.fakes.docker_socket import FaultySocket, faulty_socket

pytestmark = pytest.mark.one_database

SILENT = ("hang", 200, b"")
ROWS = ("answer", 200, b"[]")
CALLS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "creations": ("POST /containers/create", lambda client: client.create_container_from_config({})),
    "networks": ("GET /networks/x", lambda client: client.inspect_network("x")),
    "volumes": ("GET /volumes", lambda client: client.volumes()),
    "images": ("GET /images/x/json", lambda client: client.inspect_image("x")),
    "facts": ("GET /info", lambda client: client.info()),
}


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultySocket]:
    monkeypatch.setattr(failed_calls, "LIST_WITHIN", 0.2)
    with faulty_socket(tmp_path) as server:
        server.script["GET /containers/json"] = [ROWS]
        yield server


def fail(connection: Connection, call: Callable[[Any], object]) -> None:
    with pytest.raises(EngineUnavailableError), connection.call(0.1) as client:
        call(client)


def ask_for_list(connection: Connection) -> None:
    with connection.call() as client:
        client.containers(all=True)


@pytest.mark.every_case
@pytest.mark.parametrize("what", CALLS)
def test_requests_that_never_get_an_answer_keep_nobody_else_from_asking(daemon: FaultySocket, what: str) -> None:
    path, call = CALLS[what]
    connection = Connection(daemon.url)
    ask_for_list(connection)
    daemon.script[path] = [SILENT]
    for _ in range(2 * FAILURES):
        fail(connection, call)
    ask_for_list(connection)


def test_an_engine_that_does_not_list_either_is_left_alone(daemon: FaultySocket) -> None:
    connection = Connection(daemon.url)
    ask_for_list(connection)
    daemon.script |= {"GET /info": [SILENT], "GET /containers/json": [SILENT]}
    for _ in range(FAILURES):
        fail(connection, lambda client: client.info())
    asked = len(daemon.requests)
    with pytest.raises(EngineUnavailableError, match="did not answer lately"):
        ask_for_list(connection)
    assert len(daemon.requests) == asked
