"""An engine has lost the volume with an agent's secrets, for example because it started on a full disk."""

import json

import pytest

from containers.docker.engine import DockerEngine
from containers.errors import EngineUnavailableError
from tests.containers.docker.scripted_engine import (
    CREATED,
    DONE,
    FINE,
    ID,
    IMAGE,
    NAME,
    NO_VOLUME,
    OUR_STATE,
    SPEC,
    STATE,
    Answer,
    container,
)
from tests.fakes.docker_socket import FaultySocket

pytestmark = pytest.mark.one_database

LOST_VOLUME: Answer = ("answer", 500, b'{"message": "get volume: no such volume"}')
SECRETS = {**STATE, "Name": f"{NAME}-secrets"}
DELIVERY, REMOVAL = f"PUT /containers/{ID}/archive", f"DELETE /containers/{ID}"
START = f"POST /containers/{ID}/start"


@pytest.fixture
def engine(daemon: FaultySocket) -> DockerEngine:
    """Its container of this generation has ended and accepts no secrets. Another container does."""
    ended = container("exited")
    daemon.script |= {
        f"GET /containers/{NAME}/json": [ended],
        f"GET /containers/{ID}/json": [ended],
        f"GET /images/{SPEC.image}/json": [IMAGE],
        DELIVERY: [LOST_VOLUME, FINE],
        REMOVAL: [DONE],
        "POST /containers/create": [("answer", 409, b'{"message": "the name is in use"}'), CREATED],
        "GET /volumes": [OUR_STATE],
        f"GET /volumes/{NAME}-secrets": [NO_VOLUME],
    }
    return DockerEngine()


def count(daemon: FaultySocket, what: str) -> int:
    method, path = what.split()
    return sum(each.startswith(f"{method} /") and f"{path} " in each.replace("?", " ") for each in daemon.requests)


def test_a_container_without_its_secrets_is_replaced_with_new_ones(engine: DockerEngine, daemon: FaultySocket) -> None:
    engine.deploy(SPEC, confirm=lambda: True)
    assert [count(daemon, each) for each in (DELIVERY, REMOVAL, START)] == [2, 1, 1]


def test_a_container_whose_state_is_lost_too_is_kept(engine: DockerEngine, daemon: FaultySocket) -> None:
    """Its disk may only be away. Another container would have an empty memory."""
    daemon.script |= {"GET /volumes": [("answer", 200, b'{"Volumes": null}')], f"GET /volumes/{NAME}-data": [NO_VOLUME]}
    with pytest.raises(EngineUnavailableError):
        engine.deploy(SPEC, confirm=lambda: True)
    assert count(daemon, REMOVAL) == 0


def test_a_container_with_its_secrets_is_kept_when_the_engine_fails(engine: DockerEngine, daemon: FaultySocket) -> None:
    daemon.script["GET /volumes"] = [("answer", 200, json.dumps({"Volumes": [STATE, SECRETS]}).encode())]
    with pytest.raises(EngineUnavailableError):
        engine.deploy(SPEC, confirm=lambda: True)
    assert count(daemon, REMOVAL) == 0
