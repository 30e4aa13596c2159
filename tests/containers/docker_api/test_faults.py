"""An engine that is broken in every known way: always one of our errors, and never a long wait."""

import json
import time
from pathlib import Path

import pytest

from containers.docker.engine import DockerEngine
from containers.docker_api.errors import EngineFailedError
from containers.errors import EngineUnavailableError
from tests.containers.docker_api.calling import GUARD, VERBS
from tests.fakes.docker_socket import FaultySocket

# A stream of events may be slow, byte by byte: nobody waits for it.
PAIRS = [
    (mode, verb)
    for mode in ("hang", "drip", "drip-head", "cut", "close")
    for verb in VERBS
    if (mode, verb) != ("drip", "events")
]


@pytest.mark.usefixtures("short_limit")
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
def test_nonsense_does_not_count_as_an_answer(daemon: FaultySocket, body: bytes, verb: str) -> None:
    daemon.body = body
    try:
        said = str(VERBS[verb](DockerEngine()))
    except EngineUnavailableError:
        return
    # Nothing about the usage of a container means that it does not run.
    valid = {("observe", b"[]", "[]"), ("find_newest_event", b"", "None"), ("usage_of", b"", "None")}
    assert (verb, body, said) in valid


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("body", [b'{"message": "no luck"}', b"<html>bad gateway</html>", b"[]", b"null", b""])
def test_a_failing_engine_proves_nothing_about_containers(daemon: FaultySocket, body: bytes, verb: str) -> None:
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
