"""A deploy that replaces a vanished container does not read who owns the state if its volume says so."""

import json
from dataclasses import replace
from typing import Any

import pytest

from containers.docker.engine import DockerEngine
from containers.vocabulary import USER_LABEL, ContainerState
from tests.containers.docker.scripted_engine import GONE, ID, IMAGE, LABELS, NAME, SPEC, STATE, Answer, container
from tests.containers.docker.test_seen import asked
from tests.fakes.docker_socket import FaultySocket

pytestmark = pytest.mark.one_database

NEXT = replace(SPEC, generation=2, has_state=True)
READ = f"GET /containers/{ID}/archive"
OF_USER = {**LABELS, USER_LABEL: str(SPEC.user), "berth.generation": "1"}


def listed(**labels: str) -> Answer:
    return "answer", 200, json.dumps({"Volumes": [{**STATE, "Labels": {**OF_USER, **labels}}]}).encode()


def alone(generation: int) -> Answer:
    labels = {**OF_USER, "berth.generation": str(generation)}
    return "answer", 200, json.dumps({**STATE, "Labels": labels}).encode()


@pytest.fixture
def engine(daemon: FaultySocket) -> DockerEngine:
    """An engine that has only the volume of the state, and starts what is created."""
    daemon.script |= {
        "GET /volumes": [listed()],
        f"GET /volumes/{NAME}-data": [alone(1)],
        f"GET /containers/{ID}/json": [container("running")],
    }
    return DockerEngine()


def deploy(engine: DockerEngine, **changes: Any) -> list[str]:
    """Returns a list with one entry for each time that the state was reported missing."""
    missing: list[str] = []
    spec = replace(NEXT, **changes)
    made = engine.deploy(spec, confirm=lambda: True, on_missing_state=lambda: missing.append("missing"))
    assert made.state is ContainerState.RUNNING
    return missing


def test_the_state_of_an_agent_that_has_run_is_not_read(engine: DockerEngine, daemon: FaultySocket) -> None:
    assert deploy(engine) == []
    assert READ not in asked(daemon)
    assert f"GET /volumes/{NAME}-data" in asked(daemon)


def test_the_state_is_read_if_the_agent_may_never_have_run_with_it(engine: DockerEngine, daemon: FaultySocket) -> None:
    deploy(engine, has_state=False)
    assert READ in asked(daemon)


@pytest.mark.parametrize(
    "labels",
    [{USER_LABEL: str(SPEC.user + 1)}, {USER_LABEL: ""}, {"berth.generation": "2"}],
    ids=["another user", "unknown user", "created by this deploy"],
)
def test_the_state_is_read_if_its_volume_does_not_say_whose_it_is(
    engine: DockerEngine, daemon: FaultySocket, labels: dict[str, str]
) -> None:
    daemon.script["GET /volumes"] = [listed(**labels)]
    deploy(engine)
    assert READ in asked(daemon)


def test_a_state_that_disappears_before_the_container_is_created_is_read(
    engine: DockerEngine, daemon: FaultySocket
) -> None:
    daemon.script[f"GET /volumes/{NAME}-data"] = [alone(2)]
    assert deploy(engine) == ["missing"]
    assert READ in asked(daemon)


def test_the_state_is_read_if_an_unknown_container_was_in_the_way(engine: DockerEngine, daemon: FaultySocket) -> None:
    """It may have ended because it could not use its state."""
    former = "d" * 64
    row = {
        "Id": former, "Names": [f"/{NAME}"], "Labels": OF_USER, "State": "exited", "Status": "Exited (1)",
        "Created": 1, "Mounts": [], "NetworkSettings": {"Networks": {}},
    }  # fmt: skip
    ended = container("exited")
    details = {**json.loads(ended[2]), "Id": former}
    daemon.script |= {
        "GET /containers/json": [("answer", 200, json.dumps([row]).encode())],
        f"GET /containers/{former}/json": [("answer", 200, json.dumps(details).encode())],
        f"GET /images/{SPEC.image}/json": [IMAGE],
        f"DELETE /containers/{former}": [("answer", 204, b""), GONE],
    }
    deploy(engine)
    assert f"DELETE /containers/{former}" in asked(daemon)
    assert READ in asked(daemon)
