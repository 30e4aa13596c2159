"""One container whose answers are empty or broken off never makes the engine count as silent for everybody."""

import ast
import json
import os
from collections.abc import Iterator
from contextlib import suppress

import pytest

from containers.docker.engine import DockerEngine
from containers.docker_api.circuit_breaker import FAILURES
from containers.docker_api.client import Connection, DockerClient
from containers.docker_api.stats import Meter, read_usage
from containers.errors import EngineError, EngineUnavailableError
from tests.fakes.docker_socket import FaultySocket
from tests.paths import ROOT

BROKEN = {
    "nothing": ("answer", b""),
    "half a document": ("answer", b'{"read":'),
    "a broken-off body": ("cut", b'{"read": "2026-11-20T12:00:00Z"}'),
    "the end of the connection": ("close", b""),
    "more than is allowed": ("endless body", b"{}"),
}
ABOUT_ONE = frozenset({
    "attach", "connect_container_to_network", "disconnect_container_from_network", "exec_create", "get_archive",
    "inspect_container", "kill", "logs", "pause", "put_archive", "put_pieces", "remove_container", "rename", "restart",
    "start", "stats", "stop", "stream of containers", "top", "unpause", "update_container", "wait",
})  # fmt: skip
"""Methods of the client that ask for a single container."""


@pytest.mark.parametrize("way", BROKEN)
@pytest.mark.parametrize("is_reading", [False, True], ids=["command", "read"])
def test_a_broken_answer_about_one_container_opens_no_breaker(daemon: FaultySocket, way: str, is_reading: bool) -> None:
    engine = DockerEngine()
    engine.ping()
    mode, body = BROKEN[way]
    daemon.script["GET /containers/x/stats"] = [(mode, 200, body)]
    for _ in range(2 * FAILURES):
        with suppress(EngineUnavailableError):
            if is_reading:
                with engine.read_deadline():
                    engine.usage_of("x", started_at=None)
            else:
                engine.usage_of("x", started_at=None)
    state = engine._connection._states[os.getpid()]
    assert not state.breaker.is_open
    assert not state.read_breaker.is_open
    with engine.read_deadline():
        engine.ping()


@pytest.mark.parametrize("host", ["unix:///nothing/docker.sock", "tcp://127.0.0.1:9"])
def test_an_engine_that_cannot_be_reached_is_silent_for_every_call(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    engine = DockerEngine()
    for _ in range(FAILURES):
        with pytest.raises(EngineUnavailableError):
            engine.usage_of("x", started_at=None)
    assert engine._connection._states[os.getpid()].breaker.is_open


def test_an_empty_answer_about_usage_means_that_the_container_does_not_run(daemon: FaultySocket) -> None:
    """Docker 20.10 answers so for a container that is being removed."""
    daemon.script["GET /containers/x/stats"] = [("answer", 200, b"")]
    assert read_usage(Connection(), Meter(), "x", started_at=None) is None


def test_a_read_of_one_container_does_not_close_a_breaker_either(daemon: FaultySocket) -> None:
    """Three lists that fail open it, no matter how many answers about single containers break off between them."""
    engine = DockerEngine()
    engine.ping()
    daemon.script["GET /containers/x/stats"] = [("cut", 200, json.dumps({"read": "x"}).encode())]
    for _ in range(FAILURES):
        daemon.mode = "close"
        with pytest.raises(EngineUnavailableError):
            engine.ping()
        with suppress(EngineError):
            engine.usage_of("x", started_at=None)
    assert engine._connection._states[os.getpid()].breaker.is_open


def calls_of_engine() -> Iterator[tuple[str, ast.Call, set[str]]]:
    """Yields each `with ….call(…) as client` with its place and the client's methods that it uses."""
    for path in sorted(ROOT.glob("containers/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            for item in node.items if isinstance(node, ast.With) else ():
                call = item.context_expr
                if isinstance(call, ast.Call) and name_of(call) == "call" and isinstance(item.optional_vars, ast.Name):
                    yield f"{path.relative_to(ROOT)}:{call.lineno}", call, used_methods(node, item.optional_vars.id)


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def used_methods(block: ast.AST, client: str) -> set[str]:
    """Returns the methods of the client, and whether a stream is one of a container."""
    methods: set[str] = set()
    for node in ast.walk(block):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == client:
            methods.add(node.attr)
        if isinstance(node, ast.Call) and name_of(node) == "open_stream":
            methods.add("stream of containers" if "/containers/" in ast.unparse(node.args[0]) else "stream")
    return methods


def test_every_call_about_one_container_says_so() -> None:
    found = list(calls_of_engine())
    assert sum(bool(methods & ABOUT_ONE) for _, _, methods in found) > 50
    unmarked = [
        place
        for place, call, methods in found
        if methods & ABOUT_ONE and "about_one" not in {word.arg for word in call.keywords}
    ]
    assert unmarked == []


def test_the_methods_exist() -> None:
    methods = {each for each in ABOUT_ONE if not each.startswith("stream of ")}
    assert {each for each in methods if not hasattr(DockerClient, each)} == set()
