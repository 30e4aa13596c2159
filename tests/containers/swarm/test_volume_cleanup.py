"""On which nodes a memory is emptied, and the errors if that is not possible."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.test import override_settings

from containers.docker_api.client import Connection
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.identity import network_name
from containers.swarm.images.pulls import job_name
from containers.swarm.nodes.nodes import Node
from containers.swarm.notes.awaited_states import AwaitedStates, find_home
from containers.swarm.observation.observations import Observations
from containers.swarm.services.services import Services
from containers.swarm.states.shared_folders import volume_driver
from containers.swarm.states.state_writer import Memory
from containers.swarm.states.volume_cleanup import VolumeCleanup
from containers.swarm.tasks.service_spec import HOME_LABEL, KEPT_ON_LABEL, confinement
from containers.swarm.tasks.tasks import Service
from tests.containers.docker_api.calling import SPEC
from tests.containers.swarm.manager import Manager, manager
from tests.containers.swarm.test_node_gateways import node
from tests.containers.swarm.test_waiting import task
from tests.fakes.messages import Answer

pytestmark = pytest.mark.one_database


class Stopped:
    def stop(self, service: Service, *, timeout: int, leave_lost: bool) -> None:
        """Does nothing, because the container has already ended."""


class Noted(VolumeCleanup):
    def __init__(self) -> None:
        services, stopped = Services(Connection()), Stopped()
        super().__init__(Connection(), services, stopped, lambda name: None)  # type: ignore[arg-type]  # all that it asks
        self.jobs: list[tuple[list[str], list[str]]] = []
        self.templates: list[dict[str, Any]] = []

    def _empty(self, payload: dict[str, Any], nodes: Sequence[Node]) -> None:
        self.templates.append(payload["TaskTemplate"])
        self.jobs.append(([each.node_id for each in nodes], payload["TaskTemplate"]["Placement"]["Constraints"]))


BY_DRIVER = {"BERTH_SWARM_VOLUME_DRIVER": "local", "BERTH_SWARM_VOLUME_OPTIONS": {"device": ":/a/{agent}"}}


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


def test_every_other_node_that_ran_the_agent_is_emptied(swarm: Manager) -> None:
    """n9 has left the Swarm. The volume on n1, the manager's node, is removed without a job."""
    found = Noted()
    found.run(SPEC.key)
    assert found.jobs == [(["n2", "n3"], ["node.id != n1", "node.id != n4"])]


def test_a_folder_shared_by_all_nodes_is_emptied_once(swarm: Manager) -> None:
    found = Noted()
    with override_settings(**BY_DRIVER):
        found.run(SPEC.key)
        assert volume_driver("berth-x") == {"Name": "local", "Options": {"device": ":/a/berth-x"}}
    assert [nodes for nodes, _ in found.jobs] == [["n1"]]


@pytest.mark.parametrize("change", [{"Status": {"State": "down"}}, {"Spec": {"Availability": "drain"}}])
def test_memory_on_an_absent_node_is_not_reported_as_deleted(swarm: Manager, change: dict[str, Any]) -> None:
    swarm.rows["nodes"][1] |= change
    found = Noted()
    with pytest.raises(EngineUnavailableError, match="on the disk of host2"):
        found.run(SPEC.key)
    assert found.jobs == []


def test_an_agent_that_never_ran_has_nothing_to_empty(swarm: Manager) -> None:
    swarm.rows["tasks"] = []
    del swarm.rows["services"][0]["Spec"]["Labels"][KEPT_ON_LABEL]
    found = Noted()
    found.run(SPEC.key)
    assert found.jobs == []


def remove_service(swarm: Manager) -> None:
    """Removes the service but not the memory, as happens before a redeploy that fails, or an adoption."""
    services = Services(Connection())
    services.remove(services.ours(SPEC.key)[0])
    assert swarm.rows["services"] == []
    swarm.rows["tasks"] = []


def test_remains_of_a_removed_service_are_emptied_and_only_then_forgotten(swarm: Manager) -> None:
    swarm.rows["tasks"].append(task("3", "starting", "n4"))
    remove_service(swarm)
    found = Noted()
    for _ in range(2):  # the second time after a process that was killed
        found.run(SPEC.key)
    assert found.jobs == [(["n2", "n3", "n4"], ["node.id != n1"])] * 2
    assert (found.templates[0]["ContainerSpec"]["Image"], found.templates[0]["ContainerSpec"]["User"]) == ("i", "7:7")
    swarm.rows["nodes"][1]["Status"] = {"State": "down"}
    with pytest.raises(EngineUnavailableError, match="on the disk of host2"):
        found.run(SPEC.key)
    Memory(Connection()).forget(SPEC.key)
    found.run(SPEC.key)
    assert (len(found.jobs), swarm.rows["configs"]) == (2, [])


def test_an_agent_stays_bound_to_its_node_without_its_service(swarm: Manager) -> None:
    swarm.rows["services"][0]["Spec"]["Labels"][HOME_LABEL] = "n2"
    remove_service(swarm)
    assert find_home(Connection(), [], SPEC) == "n2"


def test_the_image_that_ran_last_empties_the_remains(swarm: Manager) -> None:
    row = swarm.rows["services"][0]
    remove_service(swarm)
    row["Spec"]["TaskTemplate"]["ContainerSpec"]["Image"] = "newer"
    swarm.rows |= {"services": [row], "tasks": [task("1", "running", "n2")]}
    remove_service(swarm)
    found = Noted()
    found.run(SPEC.key)
    assert found.templates[0]["ContainerSpec"]["Image"] == "newer"


def test_nodes_are_recorded_once_per_service_before_the_swarm_forgets_them(swarm: Manager) -> None:
    services = Services(Connection())
    looks = Observations(Connection(), services, None, frozenset)  # type: ignore[arg-type]  # no log is read
    for _ in range(2):
        looks.observe({}, others=False, briefly={SPEC.key})
    made = [row["Spec"]["Labels"][KEPT_ON_LABEL] for row in swarm.rows["configs"]]
    assert sorted(made) == ["n1", "n2", "n3", "n9"]
    swarm.rows["services"][0]["Spec"]["Labels"].pop(KEPT_ON_LABEL)
    swarm.rows["tasks"] = [task("9", "running", "n2")]
    found = Noted()
    found.run(SPEC.key)
    assert found.jobs[0][0] == ["n2", "n3"]
    swarm.rows |= {"configs": []}
    swarm.rows["services"][0]["ID"] = "s2"
    swarm.rows["tasks"][0]["ServiceID"] = "s2"
    looks.observe({}, others=False, briefly={SPEC.key})
    assert [row["Spec"]["Labels"][KEPT_ON_LABEL] for row in swarm.rows["configs"]] == ["n2"]


def test_memory_that_came_elsewhere_and_never_ran_is_not_called_gone(swarm: Manager) -> None:
    swarm.rows |= {"services": [], "tasks": []}
    AwaitedStates(Connection()).settle(SPEC.key, home="n2")
    with pytest.raises(EngineRefusedError, match="on the disk of host2"):
        Noted().run(SPEC.key)


def test_a_shared_folder_is_emptied_although_no_node_that_ran_the_agent_is_left(swarm: Manager) -> None:
    """A node that has the image empties it; host1 and host2 do not have it."""
    image = "r:5/a@sha256:" + "b" * 64
    swarm.rows["services"][0]["Spec"]["TaskTemplate"]["ContainerSpec"]["Image"] = image
    swarm.rows["services"][0]["Spec"]["Labels"][KEPT_ON_LABEL] = "n9"
    swarm.bodies[f"/services/{job_name(image)}"] = Answer.json(200, {"ID": "job"})
    swarm.rows["tasks"] = [{**task("1", "running", "n4"), "ServiceID": "job"}]
    found = Noted()
    with override_settings(**BY_DRIVER):
        found.run(SPEC.key)
        for each in swarm.rows["nodes"]:
            each["Status"]["State"] = "down"
        with pytest.raises(EngineUnavailableError):
            found.run(SPEC.key)
    assert [nodes for nodes, _ in found.jobs] == [["n4"]]


def test_the_cleanup_task_is_confined_like_agents_and_executes_nothing_it_finds(swarm: Manager) -> None:
    found = Noted()
    found.run(SPEC.key)
    [template] = found.templates
    program = template["ContainerSpec"]
    assert program.items() >= confinement((1, 44)).items()
    assert "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" in program["Env"]
    assert template["Networks"] == [{"Target": network_name()}]
    assert template["Resources"]["Limits"]["MemoryBytes"] == 128 << 20, "A directory may have 100,000 long names."
