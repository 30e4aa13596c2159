"""The engine fails in the middle of a verb: the present state is looked up, never guessed."""

import json

import pytest

from containers.docker.engine import DockerEngine
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.vocabulary import ContainerState
from tests.containers.docker.scripted_engine import (
    CONFLICT,
    DONE,
    FAILED,
    ID,
    KEY,
    LABELS,
    LOST,
    NAME,
    OUR_STATE,
    SPEC,
    Answer,
    container,
)
from tests.fakes.docker_socket import FaultySocket


def deploy_again() -> ContainerState:
    return DockerEngine().deploy(SPEC, confirm=lambda: True).state


def asked(daemon: FaultySocket, what: str) -> bool:
    return any(request.startswith(what.replace(" /", " /v1.41/")) for request in daemon.requests)


def was_removed(daemon: FaultySocket) -> bool:
    return asked(daemon, f"DELETE /containers/{ID}")


def lost_volumes(daemon: FaultySocket) -> bool:
    return asked(daemon, f"DELETE /volumes/{NAME}-data")


def test_a_full_disk_is_reported_without_a_path(daemon: FaultySocket) -> None:
    said = "write /var/lib/docker/containers/4f7c/.tmp-hostconfig.json291120028: no space left on device"
    daemon.script["POST /containers/create"] = [("answer", 500, json.dumps({"message": said}).encode())]
    with pytest.raises(EngineRefusedError, match="disk is full") as raised:
        deploy_again()
    assert "/var" not in str(raised.value)


@pytest.mark.parametrize("fault", [LOST, FAILED])
def test_a_container_created_in_spite_of_a_lost_answer_is_started(daemon: FaultySocket, fault: Answer) -> None:
    daemon.script["POST /containers/create"] = [fault]
    daemon.script[f"GET /containers/{NAME}/json"] = [container("created"), container("running")]
    assert deploy_again() is ContainerState.RUNNING
    assert not was_removed(daemon)


@pytest.mark.parametrize(
    "call", [f"PUT /containers/{ID}/archive", f"GET /containers/{ID}/archive", f"POST /containers/{ID}/start"]
)
def test_a_state_removed_from_the_disk_is_reported_as_lost(daemon: FaultySocket, call: str) -> None:
    """It is not reported as a failing engine, which is worth another attempt.
    The engine's words about its own paths are left out."""
    said = (
        'error evaluating symlinks from mount source "/var/lib/docker/volumes/a-data/_data": no such file or directory'
    )
    daemon.script[call] = [("answer", 500, json.dumps({"message": said}).encode())]
    with pytest.raises(EngineRefusedError, match="Clear the agent's memory") as raised:
        deploy_again()
    assert "/var" not in str(raised.value)


def test_a_container_that_could_not_be_made_is_refused(daemon: FaultySocket) -> None:
    daemon.script["POST /containers/create"] = [FAILED]
    with pytest.raises(EngineRefusedError, match="no luck"):
        deploy_again()
    assert lost_volumes(daemon)


def test_a_container_in_an_unknown_state_is_unavailable(daemon: FaultySocket) -> None:
    daemon.script["POST /containers/create"] = [LOST]
    with pytest.raises(EngineUnavailableError):
        deploy_again()


@pytest.mark.parametrize("fault", [LOST, FAILED])
def test_a_container_started_in_spite_of_a_lost_answer_is_kept(daemon: FaultySocket, fault: Answer) -> None:
    daemon.script[f"POST /containers/{ID}/start"] = [fault]
    daemon.script[f"GET /containers/{NAME}/json"] = [container("running")]
    assert deploy_again() is ContainerState.RUNNING
    assert not was_removed(daemon)


@pytest.mark.parametrize(("fault", "error"), [(LOST, EngineUnavailableError), (FAILED, EngineRefusedError)])
def test_a_container_that_did_not_start_is_removed(daemon: FaultySocket, fault: Answer, error: type[Exception]) -> None:
    daemon.script[f"POST /containers/{ID}/start"] = [fault]
    daemon.script[f"GET /containers/{NAME}/json"] = [container("created")]
    with pytest.raises(error):
        deploy_again()
    assert was_removed(daemon)
    assert lost_volumes(daemon)


def test_state_that_was_there_before_outlives_a_failed_deploy(daemon: FaultySocket) -> None:
    daemon.script["GET /volumes"] = [OUR_STATE]
    daemon.script[f"POST /containers/{ID}/start"] = [FAILED]
    daemon.script[f"GET /containers/{NAME}/json"] = [container("created")]
    with pytest.raises(EngineRefusedError):
        deploy_again()
    assert was_removed(daemon)
    assert not lost_volumes(daemon)


def test_secrets_that_cannot_be_delivered_start_nothing(daemon: FaultySocket) -> None:
    daemon.script[f"PUT /containers/{ID}/archive"] = [FAILED]
    daemon.script[f"GET /containers/{NAME}/json"] = [container("created")]
    with pytest.raises(EngineUnavailableError):
        deploy_again()
    assert not asked(daemon, f"POST /containers/{ID}/start")
    assert was_removed(daemon)


@pytest.mark.parametrize("fault", [LOST, FAILED])
def test_a_stop_with_a_lost_answer_is_verified(daemon: FaultySocket, fault: Answer) -> None:
    daemon.script[f"GET /containers/{NAME}/json"] = [container("running")]
    daemon.script[f"GET /containers/{ID}/json"] = [container("exited")]
    daemon.script[f"POST /containers/{ID}/stop"] = [fault]
    DockerEngine().stop(KEY, timeout=1)
    assert asked(daemon, f"GET /containers/{ID}/json")


@pytest.mark.parametrize("answer", [LOST, FAILED, DONE])
def test_a_container_that_still_runs_is_not_called_stopped(daemon: FaultySocket, answer: Answer) -> None:
    daemon.script[f"GET /containers/{NAME}/json"] = [container("running")]
    daemon.script[f"GET /containers/{ID}/json"] = [container("running")]
    daemon.script[f"POST /containers/{ID}/stop"] = [answer]
    with pytest.raises((EngineUnavailableError, EngineRefusedError)):
        DockerEngine().stop(KEY, timeout=1)


@pytest.mark.parametrize("fault", [LOST, FAILED, CONFLICT])
def test_a_removal_with_a_lost_answer_is_verified(daemon: FaultySocket, fault: Answer) -> None:
    daemon.script[f"GET /containers/{NAME}/json"] = [container("running")]
    daemon.script[f"DELETE /containers/{ID}"] = [fault]
    DockerEngine().remove(KEY)
    assert asked(daemon, f"GET /containers/{ID}/json")


@pytest.mark.parametrize("fault", [LOST, FAILED, CONFLICT])
def test_a_container_that_is_still_there_is_not_called_removed(daemon: FaultySocket, fault: Answer) -> None:
    daemon.script[f"GET /containers/{NAME}/json"] = [container("exited")]
    daemon.script[f"GET /containers/{ID}/json"] = [container("exited")]
    daemon.script[f"DELETE /containers/{ID}"] = [fault]
    with pytest.raises((EngineUnavailableError, EngineRefusedError)):
        DockerEngine().remove(KEY, volumes=True)
    assert not lost_volumes(daemon)


def test_a_container_removed_during_an_observation_is_left_out(daemon: FaultySocket) -> None:
    row = {
        "Id": ID, "Names": [f"/{NAME}"], "Labels": LABELS, "State": "running", "Status": "Up 1 second", "Created": 1,
    }  # fmt: skip
    daemon.script["GET /containers/json"] = [("answer", 200, json.dumps([row]).encode())]
    assert DockerEngine().observe({}) == []
    daemon.script[f"GET /containers/{ID}/json"] = [FAILED]
    assert [each.is_silent for each in DockerEngine().observe({})] == [True], "A failure does not prove its removal."
