"""A new leader of the managers has heard from no node for some seconds. Nothing wrong is reported meanwhile."""

from dataclasses import replace
from typing import Any

import pytest

from containers.docker_api.client import Connection
from containers.errors import EngineUnavailableError, NoRoomError
from containers.swarm.images.images import require_pulled
from containers.swarm.images.pulls import job_name
from containers.swarm.nodes.liveness import Liveness
from containers.swarm.nodes.nodes import Node
from containers.swarm.placement.capacity import require_room
from containers.swarm.placement.placement import _require_home
from containers.swarm.services.secrets import Secrets
from containers.swarm.services.services import Services
from containers.swarm.services.verbs import Verbs
from tests.containers.docker_api.calling import SPEC
from tests.containers.swarm.manager import Manager, manager
from tests.containers.swarm.test_capacity import node
from tests.containers.swarm.test_liveness import FOUND, SILENT, look, told  # noqa: F401 - a fixture
from tests.fakes.messages import Answer

BETWEEN = ("unknown", "disconnected")
LARGE = replace(SPEC, memory=1 << 30)


@pytest.fixture
def swarm(monkeypatch: pytest.MonkeyPatch) -> Any:
    with manager(monkeypatch) as found:
        found.rows |= {"tasks": [], "services": []}
        yield found


def nodes_in(state: str) -> list[Node]:
    return [node(1, state=state, memory=1 << 40), node(2, state=state, memory=1 << 40)]


@pytest.mark.parametrize("state", BETWEEN)
def test_nothing_is_refused_for_want_of_nodes_that_are_still_to_be_heard(swarm: Manager, state: str) -> None:
    nodes = nodes_in(state)
    for refuse in (
        lambda: require_room(Connection(), nodes, LARGE),
        lambda: _require_home(nodes, "n1"),
        lambda: require_room(Connection(), [*nodes, node(3, memory=1)], LARGE),
    ):
        with pytest.raises(EngineUnavailableError, match="manager may have changed"):
            refuse()
    require_room(Connection(), [*nodes, node(3, memory=1 << 40)], LARGE)
    with pytest.raises(NoRoomError):
        require_room(Connection(), nodes_in("down"), LARGE)


def test_a_node_that_searches_its_manager_but_answers_is_not_lost(told: list[int]) -> None:  # noqa: F811 - the fixture
    rows = nodes_in("unknown")
    lives = Liveness(lambda: rows)
    assert look(lives, told, [FOUND, FOUND]) == frozenset()
    assert look(lives, told, [FOUND, SILENT, SILENT]) == {"n2"}
    rows[:] = nodes_in("down")
    assert look(lives, told, [FOUND, FOUND]) == {"n1", "n2"}


def test_a_node_that_never_answered_is_lost_until_its_manager_knows_it(told: list[int]) -> None:  # noqa: F811 - the fixture
    rows = nodes_in("unknown")
    assert look(Liveness(lambda: rows), told, [SILENT, SILENT]) == {"n1", "n2"}


@pytest.mark.parametrize("state", BETWEEN)
def test_a_deploy_waits_for_the_former_agent_on_a_node_that_is_not_given_up(swarm: Manager, state: str) -> None:
    """The former one may still run there, and two agents would poll the same bot."""
    row = {"ID": "n1", "Spec": {"Availability": "active"}, "Status": {"State": state, "Addr": "10.0.0.1"}}
    swarm.rows["nodes"] = [row]
    connection = Connection()
    verbs = Verbs(connection, Services(connection), Secrets(connection), frozenset)
    assert verbs._given_up() == set()
    row["Status"] = {"State": "down"}
    assert verbs._given_up() == {"n1"}


def test_an_image_that_only_nodes_have_which_are_still_to_be_heard(swarm: Manager, monkeypatch: Any) -> None:
    image = "r:5/a@sha256:" + "b" * 64
    swarm.bodies[f"/services/{job_name(image)}"] = Answer.json(200, {"ID": "job"})
    monkeypatch.setattr("containers.swarm.images.pulls.Pulled.has", lambda _, node: True)
    with pytest.raises(EngineUnavailableError, match="manager may have changed"):
        require_pulled(Connection(), image, nodes_in("unknown"))
