"""An engine that is about to end answers who is connected already, which tells nothing of its containers."""

import json
from collections.abc import Callable

import pytest

from containers.docker.engine import DockerEngine
from containers.errors import EngineRefusedError, EngineUnavailableError
from tests.containers.docker.scripted_engine import ID, SPEC
from tests.fakes.docker_socket import FaultySocket
from tests.fakes.listening import stop_listening

pytestmark = pytest.mark.one_database


def deploy(engine: DockerEngine) -> None:
    engine.deploy(SPEC, confirm=lambda: True)


@pytest.mark.parametrize("ask", [DockerEngine.ping, DockerEngine.started_at, deploy])
def test_nothing_is_known_of_one_that_takes_no_new_connection(
    ask: Callable[[DockerEngine], object], daemon: FaultySocket
) -> None:
    """Its agents have not ended by themselves, and it would start them if it went on."""
    engine = DockerEngine()
    refusal = json.dumps({"message": "the engine is shutting down"}).encode()
    daemon.script[f"POST /containers/{ID}/start"] = [("answer", 403, refusal)]
    engine.ping()
    with pytest.raises(EngineRefusedError):
        deploy(engine)
    stop_listening(daemon._server)
    assert engine.look_up(ID) is None  # it answers
    with pytest.raises(EngineUnavailableError):
        ask(engine)
