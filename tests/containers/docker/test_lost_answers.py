"""The engine fails in the middle of a verb: what is true is looked up, never guessed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from containers.docker.engine import DockerEngine
from containers.docker_api import client
from containers.engine import (
    ContainerSpec,
    ContainerState,
    EngineRefusedError,
    EngineUnavailableError,
)
from containers.firewall.bridge import bridge_name
from tests.fakes.docker_socket import FaultySocket, faulty_socket

NAME, ID = "berth-1", "c" * 64
LABELS = {"berth.instance": "berth", "berth.project": "1"}
SPEC = ContainerSpec(
    name=NAME, image="berth/x", labels=LABELS, generation=1, environment={}, secrets={"a": "b"},
    memory=1, nano_cpus=1, pids=1, stop_timeout=1,
)  # fmt: skip

Answer = tuple[str, int, bytes]
LOST: Answer = ("close", 0, b"")
FAILED: Answer = ("answer", 500, b'{"message": "no luck"}')
GONE: Answer = ("answer", 404, b'{"message": "No such container"}')
DONE: Answer = ("answer", 204, b"")
FINE: Answer = ("answer", 200, b"{}")
NO_VOLUME: Answer = ("answer", 404, b'{"message": "no such volume"}')
OUR_VOLUME: Answer = ("answer", 200, b'{"Labels": {"berth.instance": "berth"}}')
CREATED: Answer = ("answer", 201, json.dumps({"Id": ID}).encode())


def container(state: str) -> Answer:
    never, began = "0001-01-01T00:00:00Z", "2026-11-20T12:00:00.123456789Z"
    said: dict[str, Any] = {
        "Id": ID,
        "Name": f"/{NAME}",
        "Created": began,
        "RestartCount": 0,
        "Config": {"Labels": {**LABELS, "berth.generation": "1"}},
        "State": {
            "Status": state,
            "ExitCode": 0,
            "OOMKilled": False,
            "StartedAt": never if state == "created" else began,
            "FinishedAt": never,
        },
    }
    return "answer", 200, json.dumps(said).encode()


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultySocket]:
    """An engine on which everything works, with no container yet."""
    monkeypatch.setattr(client, "CALL_LIMIT", 2.0)
    network = {
        "Name": settings.BERTH_CONTAINER_NETWORK,
        "Labels": {"berth.instance": settings.BERTH_INSTANCE},
        "Options": {
            "com.docker.network.bridge.enable_icc": "false",
            "com.docker.network.bridge.name": bridge_name(),
        },
    }
    with faulty_socket(tmp_path) as server:
        monkeypatch.setenv("DOCKER_HOST", server.url)
        server.script = {
            f"GET /networks/{settings.BERTH_CONTAINER_NETWORK}": [("answer", 200, json.dumps(network).encode())],
            f"GET /containers/{NAME}/json": [GONE],
            f"GET /containers/{ID}/json": [GONE],
            f"GET /volumes/{NAME}-data": [NO_VOLUME, OUR_VOLUME],
            f"GET /volumes/{NAME}-secrets": [NO_VOLUME, OUR_VOLUME],
            f"DELETE /volumes/{NAME}-data": [DONE],
            f"DELETE /volumes/{NAME}-secrets": [DONE],
            "POST /containers/create": [CREATED],
            f"PUT /containers/{ID}/archive": [FINE],
            f"POST /containers/{ID}/start": [DONE],
            f"POST /containers/{ID}/stop": [DONE],
            f"DELETE /containers/{ID}": [DONE],
        }
        yield server


def deploy() -> ContainerState:
    return DockerEngine().deploy(SPEC, confirm=lambda: True).state


def asked(daemon: FaultySocket, what: str) -> bool:
    return any(request.startswith(what.replace(" /", " /v1.41/")) for request in daemon.requests)


def was_removed(daemon: FaultySocket) -> bool:
    return asked(daemon, f"DELETE /containers/{ID}")


def lost_volumes(daemon: FaultySocket) -> bool:
    return asked(daemon, f"DELETE /volumes/{NAME}-data")


BEFORE = [GONE, GONE]  # the two looks before a container is made


@pytest.mark.parametrize("fault", [LOST, FAILED])
def test_a_container_that_was_made_all_the_same_is_started(daemon: FaultySocket, fault: Answer) -> None:
    daemon.script["POST /containers/create"] = [fault]
    daemon.script[f"GET /containers/{NAME}/json"] = [*BEFORE, container("created"), container("running")]
    assert deploy() is ContainerState.RUNNING
    assert not was_removed(daemon)


def test_a_container_that_could_not_be_made_is_refused(daemon: FaultySocket) -> None:
    daemon.script["POST /containers/create"] = [FAILED]
    with pytest.raises(EngineRefusedError, match="no luck"):
        deploy()
    assert lost_volumes(daemon)


def test_a_container_of_which_nobody_knows_is_unavailable(daemon: FaultySocket) -> None:
    daemon.script["POST /containers/create"] = [LOST]
    with pytest.raises(EngineUnavailableError):
        deploy()


@pytest.mark.parametrize("fault", [LOST, FAILED])
def test_a_container_that_started_all_the_same_is_kept(daemon: FaultySocket, fault: Answer) -> None:
    daemon.script[f"POST /containers/{ID}/start"] = [fault]
    daemon.script[f"GET /containers/{NAME}/json"] = [*BEFORE, container("running")]
    assert deploy() is ContainerState.RUNNING
    assert not was_removed(daemon)


@pytest.mark.parametrize(("fault", "error"), [(LOST, EngineUnavailableError), (FAILED, EngineRefusedError)])
def test_a_container_that_did_not_start_is_removed(daemon: FaultySocket, fault: Answer, error: type[Exception]) -> None:
    daemon.script[f"POST /containers/{ID}/start"] = [fault]
    daemon.script[f"GET /containers/{NAME}/json"] = [*BEFORE, container("created")]
    with pytest.raises(error):
        deploy()
    assert was_removed(daemon)
    assert lost_volumes(daemon)


def test_state_that_was_there_before_outlives_a_failed_deploy(daemon: FaultySocket) -> None:
    daemon.script[f"GET /volumes/{NAME}-data"] = [OUR_VOLUME]
    daemon.script[f"POST /containers/{ID}/start"] = [FAILED]
    daemon.script[f"GET /containers/{NAME}/json"] = [*BEFORE, container("created")]
    with pytest.raises(EngineRefusedError):
        deploy()
    assert was_removed(daemon)
    assert not lost_volumes(daemon)


def test_secrets_that_cannot_be_delivered_start_nothing(daemon: FaultySocket) -> None:
    daemon.script[f"PUT /containers/{ID}/archive"] = [FAILED]
    daemon.script[f"GET /containers/{NAME}/json"] = [*BEFORE, container("created")]
    with pytest.raises(EngineUnavailableError):
        deploy()
    assert not asked(daemon, f"POST /containers/{ID}/start")
    assert was_removed(daemon)


@pytest.mark.parametrize("fault", [LOST, FAILED])
def test_a_stop_whose_answer_is_lost_is_looked_up(daemon: FaultySocket, fault: Answer) -> None:
    daemon.script[f"GET /containers/{NAME}/json"] = [container("running")]
    daemon.script[f"GET /containers/{ID}/json"] = [container("exited")]
    daemon.script[f"POST /containers/{ID}/stop"] = [fault]
    DockerEngine().stop(NAME, timeout=1)
    assert asked(daemon, f"GET /containers/{ID}/json")


@pytest.mark.parametrize("answer", [LOST, FAILED, DONE])
def test_a_container_that_still_runs_is_not_called_stopped(daemon: FaultySocket, answer: Answer) -> None:
    daemon.script[f"GET /containers/{NAME}/json"] = [container("running")]
    daemon.script[f"GET /containers/{ID}/json"] = [container("running")]
    daemon.script[f"POST /containers/{ID}/stop"] = [answer]
    with pytest.raises((EngineUnavailableError, EngineRefusedError)):
        DockerEngine().stop(NAME, timeout=1)


CONFLICT: Answer = ("answer", 409, b'{"message": "removal of container is already in progress"}')


@pytest.mark.parametrize("fault", [LOST, FAILED, CONFLICT])
def test_a_removal_whose_answer_is_lost_is_looked_up(daemon: FaultySocket, fault: Answer) -> None:
    daemon.script[f"GET /containers/{NAME}/json"] = [container("running")]
    daemon.script[f"DELETE /containers/{ID}"] = [fault]
    DockerEngine().remove(NAME)
    assert asked(daemon, f"GET /containers/{ID}/json")


@pytest.mark.parametrize("fault", [LOST, FAILED, CONFLICT])
def test_a_container_that_is_still_there_is_not_called_removed(daemon: FaultySocket, fault: Answer) -> None:
    daemon.script[f"GET /containers/{NAME}/json"] = [container("exited")]
    daemon.script[f"GET /containers/{ID}/json"] = [container("exited")]
    daemon.script[f"DELETE /containers/{ID}"] = [fault]
    with pytest.raises((EngineUnavailableError, EngineRefusedError)):
        DockerEngine().remove(NAME, volumes=True)
    assert not lost_volumes(daemon)


def test_a_container_that_goes_while_it_is_observed_is_left_out(daemon: FaultySocket) -> None:
    row = {
        "Id": ID, "Names": [f"/{NAME}"], "Labels": LABELS, "State": "running", "Status": "Up 1 second", "Created": 1,
    }  # fmt: skip
    daemon.script["GET /containers/json"] = [("answer", 200, json.dumps([row]).encode())]
    assert DockerEngine().observe({}) == []
    daemon.script[f"GET /containers/{ID}/json"] = [FAILED]
    with pytest.raises(EngineUnavailableError):
        DockerEngine().observe({})
