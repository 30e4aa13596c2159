"""An agent's memory is deleted although its node is dead, and not reported as gone if its place is unknown."""

from collections.abc import Iterator
from typing import Any

import pytest

from containers.errors import EngineRefusedError
from containers.firewall.node_script import CONFIG
from containers.identity import network_name, own_labels
from containers.swarm.engine import SwarmEngine
from containers.swarm.nodes import liveness
from containers.vocabulary import PROJECT_LABEL
from containers.volume_containers import handover_name
from projects.models import Event, Project
from projects.models.event import SYSTEM
from projects.rules.status.lifecycle import Desired
from projects.services import clear_memory, delete_project
from tests.containers.swarm.manager import Manager, manager
from tests.containers.swarm.test_node_gateways import node
from tests.containers.swarm.test_waiting import NO_NODE, task
from tests.fakes.engine import MemoryEngine
from tests.fakes.messages import Answer

pytestmark = pytest.mark.one_database


@pytest.fixture
def stopped(project: Project) -> Project:
    Project.objects.filter(pk=project.pk).update(desired=Desired.STOPPED, has_state=True)
    project.refresh_from_db()
    return project


@pytest.fixture
def swarm(stopped: Project, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Manager]:
    """All nodes share a folder. The agent ran on n1, which is dead, and waits for another node;
    n2 empties the folder."""
    settings.BERTH_SWARM_VOLUME_DRIVER = "local"
    monkeypatch.setattr(liveness, "ask", lambda nodes: liveness.Answers(frozenset(nodes), frozenset()))
    with manager(monkeypatch) as found:
        template = {"ContainerSpec": {"Image": "i", "User": "7:7"}}
        labels = {**own_labels(), PROJECT_LABEL: stopped.container_key, "berth.generation": "1"}
        spec = {"Name": stopped.container_name, "Labels": labels, "Mode": {"Replicated": {}}, "TaskTemplate": template}
        row = {"ID": "s", "Version": {"Index": 1}, "CreatedAt": "2026-01-01T00:00:00Z", "Spec": spec}
        left, emptied = task("1", "running", "n1", wanted=False), task("3", "complete", "n2", wanted=False)
        waits = task("2", "pending", error=NO_NODE)
        found.rows |= {"services": [row], "nodes": [node(1), node(2)], "tasks": [left, waits, emptied]}
        found.rows["nodes"][0]["Status"]["State"] = "down"
        found.bodies["/volumes"] = Answer.json(200, {"Volumes": []})
        network = {"Scope": "swarm", "ConfigFrom": {"Network": f"{network_name()}{CONFIG}"}}
        found.bodies[f"/networks/{network_name()}"] = Answer.json(200, network)
        left_by_a_move = f"/containers/{handover_name(stopped.container_name)}/json"
        found.bodies[left_by_a_move] = Answer.json(404, {"message": "no such container"})
        monkeypatch.setattr(SwarmEngine, "gateways", lambda self: {})
        engine = SwarmEngine()
        monkeypatch.setattr("containers.get_engine._load", lambda path: engine)
        yield found


def test_a_memory_is_cleared_once_the_swarm_has_given_the_node_up(swarm: Manager, stopped: Project) -> None:
    clear_memory(project=stopped, actor=SYSTEM)
    assert swarm.rows["services"] == []
    assert sum(path.endswith("/services/create") for _, path in swarm.requests) == 1


def test_a_project_is_deleted_once_the_swarm_has_given_the_node_up(swarm: Manager, stopped: Project) -> None:
    assert delete_project(project=stopped, actor=SYSTEM)
    assert swarm.rows["services"] == []
    assert not Event.objects.filter(project_id=stopped.pk, outcome="warning").exists()


def test_a_memory_at_an_unknown_place_is_not_reported_as_lost(
    stopped: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "knows_state", lambda key: False)
    for _ in range(2):
        with pytest.raises(EngineRefusedError, match="Nobody knows"):
            clear_memory(project=stopped, actor=SYSTEM)
    assert delete_project(project=stopped, actor=SYSTEM)
    [told] = Event.objects.filter(project_id=stopped.pk, outcome="warning")
    assert "Nobody knows" in told.detail


def test_the_swarm_knows_by_a_service_a_note_or_a_volume(swarm: Manager, stopped: Project) -> None:
    engine, key = SwarmEngine(), stopped.container_key
    assert engine.knows_state(key)
    swarm.bodies[f"/volumes/{stopped.container_name}-data"] = Answer.json(404, {"message": "no such volume"})
    engine.remove(key)
    assert engine.knows_state(key)
    swarm.rows["configs"] = []
    assert not engine.knows_state(key)
