"""Where what an agent remembers is emptied, and what is said where that cannot be."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.test import override_settings

from containers.docker_api.client import Connection
from containers.errors import EngineUnavailableError
from containers.swarm.emptying import Emptying
from containers.swarm.nodes import Node
from containers.swarm.service_spec import KEPT_ON_LABEL
from containers.swarm.services import Services
from containers.swarm.shared_folders import volume_driver
from containers.swarm.tasks import Service
from tests.containers.docker_api.calling import SPEC
from tests.containers.swarm.manager import Manager, manager
from tests.containers.swarm.test_node_gateways import node
from tests.containers.swarm.test_waiting import task
from tests.fakes.messages import Answer

pytestmark = pytest.mark.one_database


class Stopped:
    def stop(self, service: Service, *, timeout: int, leave_lost: bool) -> None:
        """It has ended before."""


class Noted(Emptying):
    def __init__(self) -> None:
        super().__init__(Connection(), Services(Connection()), Stopped())  # type: ignore[arg-type]  # all that it asks
        self.jobs: list[tuple[list[str], list[str]]] = []

    def _empty(self, payload: dict[str, Any], nodes: Sequence[Node]) -> None:
        self.jobs.append(([each.node_id for each in nodes], payload["TaskTemplate"]["Placement"]["Constraints"]))


@pytest.fixture
def swarm(monkeypatch: pytest.MonkeyPatch) -> Any:
    with manager(monkeypatch) as found:
        labels = {**SPEC.labels, "berth.generation": "1", KEPT_ON_LABEL: "n3 n9"}
        template = {"ContainerSpec": {"Image": "i", "User": "7:7"}}
        spec = {"Name": SPEC.name, "Labels": labels, "Mode": {"Replicated": {}}, "TaskTemplate": template}
        row = {"ID": "s", "Version": {"Index": 1}, "CreatedAt": "2026-01-01T00:00:00Z", "Spec": spec}
        found.rows |= {"services": [row], "nodes": [node(1), node(2), node(3), node(4)]}
        found.rows["tasks"] = [task("1", "running", "n1"), task("2", "running", "n2")]
        found.bodies["/info"] = Answer.json(200, {"Swarm": {"NodeID": "n1"}})
        yield found


def test_each_node_on_which_it_has_run_is_emptied_but_that_of_the_manager_itself(swarm: Manager) -> None:
    """n9 is no more. What is on n1, the engine itself removes."""
    found = Noted()
    found.run(SPEC.key)
    assert found.jobs == [(["n2", "n3"], ["node.id != n1", "node.id != n4"])]


def test_where_all_share_a_folder_it_is_emptied_once(swarm: Manager) -> None:
    found = Noted()
    with override_settings(BERTH_SWARM_VOLUME_DRIVER="local", BERTH_SWARM_VOLUME_OPTIONS={"device": ":/a/{agent}"}):
        found.run(SPEC.key)
        assert volume_driver("berth-x") == {"Name": "local", "Options": {"device": ":/a/berth-x"}}
    assert [nodes for nodes, _ in found.jobs] == [["n1"]]


@pytest.mark.parametrize("change", [{"Status": {"State": "down"}}, {"Spec": {"Availability": "drain"}}])
def test_nothing_is_said_to_be_gone_that_is_on_a_node_which_is_away(swarm: Manager, change: dict[str, Any]) -> None:
    swarm.rows["nodes"][1] |= change
    found = Noted()
    with pytest.raises(EngineUnavailableError, match="on the disk of host2"):
        found.run(SPEC.key)
    assert found.jobs == []


def test_of_one_that_has_never_run_there_is_nothing_to_empty(swarm: Manager) -> None:
    swarm.rows["tasks"] = []
    del swarm.rows["services"][0]["Spec"]["Labels"][KEPT_ON_LABEL]
    found = Noted()
    found.run(SPEC.key)
    assert found.jobs == []
