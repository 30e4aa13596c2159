"""The engine is stuck at single containers: it lists them, and answers nothing else about them."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from containers.agent_contract import AGENT_USER
from containers.docker import inspections, pauses
from containers.docker.engine import DockerEngine
from containers.docker.volumes import users
from containers.docker_api import client
from containers.docker_api.circuit_breaker import FAILURES
from containers.errors import ContainerSilentError, EngineUnavailableError
from containers.identity import own_labels
from containers.vocabulary import PROJECT_LABEL
from tests.fakes.docker_socket import FaultySocket, faulty_socket

MANY, STUCK = 12, 6


def number_of(container_id: str) -> int:
    return int(container_id, 16)


def labels(number: int) -> dict[str, str]:
    return {**own_labels(), PROJECT_LABEL: f"key-{number}", "berth.generation": "1"}


def row(number: int) -> dict[str, Any]:
    return {
        "Id": f"{number:064x}",
        "Names": [f"/agent-{number}"],
        "Labels": labels(number),
        "State": "running",
        "Status": "Up 3 seconds (health: starting)",
        "Created": 1_790_000_000 + number,
    }


def inspected(number: int) -> bytes:
    state = {
        "Status": "running",
        "ExitCode": 0,
        "OOMKilled": False,
        "StartedAt": "0001-01-01T00:00:00Z",  # so that no log is read
        "FinishedAt": "0001-01-01T00:00:00Z",
    }
    answer = {
        "Id": f"{number:064x}",
        "Name": f"/agent-{number}",
        "Created": "2026-11-20T12:00:00Z",
        "RestartCount": 0,
        "Config": {"Labels": labels(number)},
        "State": state,
    }
    return json.dumps(answer).encode()


@pytest.fixture
def socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultySocket]:
    """An engine with many containers, which answers for each of them."""
    monkeypatch.setattr(inspections, "PATIENCE", 0.4)
    monkeypatch.setattr(inspections, "SHORTEST", 30.0)  # even on a busy machine, all working ones answer within that
    with faulty_socket(tmp_path) as made:
        monkeypatch.setenv("DOCKER_HOST", made.url)
        made.script["GET /containers/json"] = [("answer", 200, json.dumps([row(n) for n in range(MANY)]).encode())]
        for number in range(MANY):
            made.script[f"GET /containers/{number:064x}/json"] = [("answer", 200, inspected(number))]
        yield made


def stick(socket: FaultySocket, *numbers: int, how: str = "hang") -> None:
    for number in numbers:
        socket.script[f"GET /containers/{number:064x}/json"] = [(how, 200, inspected(number))]


def silent(engine: DockerEngine) -> set[int]:
    seen = engine.observe({})
    assert len(seen) == MANY
    return {number_of(each.container_id) for each in seen if each.is_silent}


@pytest.mark.parametrize("how", ["hang", "drip", "drip-head"])
def test_a_stuck_container_is_silent_and_all_others_are_observed(socket: FaultySocket, how: str) -> None:
    engine = DockerEngine()
    assert silent(engine) == set()
    stick(socket, 0, how=how)
    assert silent(engine) == {0}


def test_many_stuck_containers_cost_little_more_than_one(socket: FaultySocket, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them together get the time of one, and a moment each."""
    monkeypatch.setattr(inspections, "SHORTEST", 0.05)
    monkeypatch.setattr(pauses, "LONGEST", 3600.0)
    monkeypatch.setattr(pauses, "FIRST", 3600.0)
    engine = DockerEngine()
    stick(socket, *range(STUCK))
    assert silent(engine) >= set(range(STUCK))
    socket.requests.clear()
    assert silent(engine) >= set(range(STUCK))
    assert not [each for each in socket.requests if any(f"{number:064x}" in each for number in range(STUCK))]


def test_a_stuck_container_is_inspected_again_after_a_while(
    socket: FaultySocket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pauses, "LONGEST", 0.0)
    engine = DockerEngine()
    stick(socket, 0)
    assert silent(engine) == {0}
    stick(socket, 0, how="answer")
    assert silent(engine) == set()


def test_a_read_sees_the_others_within_its_time(socket: FaultySocket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspections, "PATIENCE", 3600.0)
    engine = DockerEngine()
    stick(socket, 0)
    with engine.read_deadline():
        assert silent(engine) == {0}


def test_a_read_without_time_for_all_of_them_blames_no_engine(
    socket: FaultySocket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If many agents end at once, an engine is slow with all of them. It has answered, and is asked again."""
    full = socket.script["GET /containers/json"][0]
    monkeypatch.setattr(client, "READ_DEADLINE", 0.5)
    engine = DockerEngine()
    engine.ping()  # a busy machine may be slow to connect
    stick(socket, *range(MANY))
    for _ in range(FAILURES + 1):
        socket.script["GET /containers/json"] = [full, ("hang", 200, b"[]")]
        with engine.read_deadline(), suppress(EngineUnavailableError):
            engine.observe({})
    socket.script["GET /containers/json"] = [full]
    monkeypatch.setattr(client, "READ_DEADLINE", 30.0)
    with engine.read_deadline():
        assert len(engine.observe({}, briefly=[f"key-{number}" for number in range(MANY)])) == MANY


def test_an_engine_that_answers_for_none_is_silent_itself(socket: FaultySocket) -> None:
    stick(socket, *range(MANY))
    full = socket.script["GET /containers/json"][0]
    socket.script["GET /containers/json"] = [full, ("hang", 200, b"[]")]
    with pytest.raises(EngineUnavailableError):
        DockerEngine().observe({})


def test_a_call_for_a_stuck_container_reports_it_and_opens_no_breaker(socket: FaultySocket) -> None:
    engine = DockerEngine()
    stick(socket, 7)
    socket.script["GET /containers/json"] = [("answer", 200, json.dumps([row(7)]).encode())]
    for _ in range(4):
        with engine.deadline(0.3), pytest.raises(ContainerSilentError):
            engine.inspect("key-7")
    engine.ping()


def test_policies_of_the_other_containers_are_updated(socket: FaultySocket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("containers.docker.alignment._ONE_WITHIN", 0.2)
    engine = DockerEngine()
    stick(socket, 0)
    asked = len(socket.requests)
    engine._alignment.align_all()
    assert len(socket.requests) - asked >= MANY


@pytest.mark.parametrize("numbers", [{0}, set(range(3))], ids=["one", "three"])
def test_no_deploy_waits_for_the_user_of_a_container_that_does_not_answer(
    socket: FaultySocket, monkeypatch: pytest.MonkeyPatch, numbers: set[int]
) -> None:
    """They are from before there was a label for it, so each is asked. The others' numbers count."""
    monkeypatch.setattr(users, "ASK_WITHIN", 0.4)
    socket.script["GET /volumes"] = [("answer", 200, b'{"Volumes": []}')]
    stick(socket, *numbers)
    engine = DockerEngine()
    assert engine.highest_user() == AGENT_USER
    socket.requests.clear()
    assert engine.highest_user() == AGENT_USER
    assert not [each for each in socket.requests if "/json" in each and "/containers/json" not in each]
    monkeypatch.setattr(users, "NOT_ASKED_FOR", 0.0)
    engine = DockerEngine()
    assert engine.highest_user() == AGENT_USER
    stick(socket, *numbers, how="answer")
    for number in numbers:
        told = json.loads(inspected(number))
        told["Config"]["User"] = f"{20_000 + number}:0"
        socket.script[f"GET /containers/{number:064x}/json"] = [("answer", 200, json.dumps(told).encode())]
    assert engine.highest_user() == 20_000 + max(numbers)
