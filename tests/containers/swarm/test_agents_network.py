"""The agents' network of a Swarm, which several deploys may create at the same time."""

from typing import Any

import pytest

from containers.errors import EngineRefusedError
from containers.firewall.node_script import CONFIG
from containers.swarm.gateway.verbs import GatewayVerbs
from tests.containers.swarm.manager import Manager
from tests.fakes.messages import Answer, Request

pytestmark = pytest.mark.one_database

NAME = "berth-agents"
CONFLICT = "rpc error: code = Unknown desc = name conflicts with an existing object"


class RacingManager(Manager):
    """Another deploy creates `rival` after ours has looked for the network, so the manager refuses ours."""

    rival: dict[str, Any] | None = None

    def __init__(self) -> None:
        super().__init__()
        self.bodies[f"/networks/{NAME}"] = Answer.json(404, {"message": f"network {NAME} not found"})

    def _create(self, room: str, request: Request) -> Answer:
        if self.rival is not None:
            self.bodies[f"/networks/{NAME}"] = Answer.json(200, self.rival)
        return Answer.json(500, {"message": CONFLICT})


@pytest.fixture
def swarm(monkeypatch: pytest.MonkeyPatch) -> Any:
    with RacingManager() as found:
        monkeypatch.setenv("DOCKER_HOST", found.url.replace("http", "tcp"))
        yield found


def ensure() -> None:
    GatewayVerbs()._ensure_network(NAME)


def test_a_network_just_created_by_another_deploy_is_used(swarm: RacingManager) -> None:
    """Docker 20.10 answers 500 instead of 409 if both requests come within milliseconds."""
    swarm.rival = {"Name": NAME, "Scope": "swarm", "ConfigFrom": {"Network": f"{NAME}{CONFIG}"}}
    ensure()


def test_a_foreign_network_just_created_is_not_used(swarm: RacingManager) -> None:
    swarm.rival = {"Name": NAME, "Scope": "local", "ConfigFrom": {"Network": ""}}
    with pytest.raises(EngineRefusedError, match="not created by Berth"):
        ensure()


def test_a_network_that_cannot_be_made_is_refused_with_the_reason(swarm: RacingManager) -> None:
    with pytest.raises(EngineRefusedError, match=f"{NAME}{CONFIG}.*{CONFLICT}"):
        ensure()
