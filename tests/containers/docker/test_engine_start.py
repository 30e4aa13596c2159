"""When the engine was started decides whether an agent has crashed, even if the engine never answers about networks."""

import json
from datetime import UTC, datetime

import pytest

from containers.docker.engine import DockerEngine
from containers.docker.networks import agents
from containers.errors import EngineUnavailableError
from tests.containers.docker.scripted_engine import FAILED, LOST
from tests.fakes.docker_socket import FaultySocket

pytestmark = pytest.mark.one_database

OLDEST = 1_790_000_000


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "NETWORKS_WITHIN", 0.2)


def remember(daemon: FaultySocket, *moments: int) -> None:
    events = [json.dumps({"Type": "container", "timeNano": each * 10**9}) for each in moments]
    daemon.script["GET /events"] = [("answer", 200, "\n".join(events).encode())]


@pytest.mark.every_case
@pytest.mark.parametrize("answer", [("hang", 200, b""), ("drip-head", 200, b"{}" * 100), FAILED])
def test_an_engine_that_does_not_tell_of_its_networks_has_run_since_its_oldest_event(
    daemon: FaultySocket, answer: tuple[str, int, bytes]
) -> None:
    daemon.script["GET /networks/bridge"] = [answer]
    remember(daemon, OLDEST + 5, OLDEST, OLDEST + 9)
    assert DockerEngine().started_at() == datetime.fromtimestamp(OLDEST, UTC)


def test_an_engine_that_remembers_nothing_does_not_say_when_it_was_started(daemon: FaultySocket) -> None:
    daemon.script["GET /networks/bridge"] = [("hang", 200, b"")]
    remember(daemon)
    with pytest.raises(EngineUnavailableError):
        DockerEngine().started_at()


def test_an_engine_that_ends_meanwhile_may_be_another_one(daemon: FaultySocket) -> None:
    daemon.script["GET /networks/bridge"] = [LOST]
    remember(daemon, OLDEST)
    with pytest.raises(EngineUnavailableError):
        DockerEngine().started_at()
