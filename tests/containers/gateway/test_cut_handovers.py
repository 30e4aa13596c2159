"""A handover to a new gateway that is interrupted, or cannot be completed: the former gateway continues."""

from typing import Any, cast

import pytest

from containers.docker.gateway import containers as docker_gateways
from containers.docker.gateway import replacement
from containers.docker.gateway.containers import GatewayContainers
from containers.docker.gateway.gateway import Gateway
from containers.docker.gateway.payload import Plan, Way
from containers.docker.gateway.replacement import put_in_place
from containers.docker.gateway.rows import Row
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError
from containers.errors import EngineUnavailableError, GatewaySilentError
from containers.gateway.vocabulary import GatewaySpec
from containers.identity import exit_network_name, gateway_network_name
from containers.outbound import call_limits

pytestmark = pytest.mark.one_database

PLAN = Plan(spec=GatewaySpec(key="k"), image_id="i", network=cast("Any", None), way=Way.PORT, name_servers=(), made="n")


class Containers:
    """A new container that never answers, and the others in their states."""

    def __init__(self, **states: str) -> None:
        self.states = {"new": "created", **states}
        self.fault: Exception = GatewaySilentError("It does not answer.")

    def list(self) -> list[Row]:
        networks = frozenset({exit_network_name(), gateway_network_name()})
        return [
            Row(
                container_id=each,
                name=each,
                state=state,
                made=each[0],
                way=Way.PORT,
                takes_turns=True,
                networks=networks,
            )
            for each, state in self.states.items()
        ]

    def make(self, _plan: Plan) -> str:
        return "new"

    def join(self, _container: str, _plan: Plan) -> None:
        pass

    def stop(self, container: str) -> None:
        self.states[container] = "exited"

    def start(self, container: str) -> None:
        self.states[container] = "running"

    def wait_for(self, _container: str) -> None:
        raise self.fault


@pytest.fixture
def hand_over(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(replacement, "ensure_exit_network", lambda *_: None)
    return lambda found, **options: put_in_place(
        cast("Connection", None), cast("GatewayContainers", found), PLAN, **options
    )


def test_the_former_gateway_is_started_again_after_an_interrupted_handover(hand_over: Any) -> None:
    found = Containers(failed="exited", former="exited")
    with pytest.raises(GatewaySilentError):
        hand_over(found)
    assert found.states == {"new": "exited", "failed": "exited", "former": "running"}


@pytest.mark.parametrize(("is_last", "former"), [(False, "exited"), (True, "running")])
def test_the_former_gateway_is_started_again_after_the_last_attempt(hand_over: Any, is_last: bool, former: str) -> None:
    found = Containers(former="running")
    found.fault = ConflictError("Somebody is at it.")
    with pytest.raises(ConflictError):
        hand_over(found, is_last=is_last)
    assert found.states["former"] == former


def test_none_is_begun_that_could_not_be_undone_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("containers.docker.gateway.gateway.put_in_place", lambda *_, **__: pytest.fail("begun"))
    rows = Containers(former="running").list()
    with call_limits.time_limit(26):
        assert Gateway(cast("Connection", None))._try_to_replace(PLAN, rows, is_last=False) == ""


def test_a_gateway_that_the_caller_has_no_time_for_is_not_reported_as_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    containers = GatewayContainers(cast("Connection", None))
    with call_limits.time_limit(0.0), pytest.raises(EngineUnavailableError):
        containers.wait_for("new")
    monkeypatch.setattr(docker_gateways, "ANSWERS_WITHIN", 0.0)
    with call_limits.time_limit(26), pytest.raises(GatewaySilentError):
        containers.wait_for("new")
