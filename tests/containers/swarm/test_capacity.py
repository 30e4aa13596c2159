"""How much memory nodes have left, and which measures of isolation the nodes' engines lack."""

from dataclasses import replace
from typing import Any

import pytest

from containers.docker_api.client import Connection
from containers.errors import EngineRefusedError
from containers.swarm.confinement.confinement import Confinement
from containers.swarm.confinement.missing_protections import MEASURES, api_of, explain_refusal, find_missing
from containers.swarm.engine import SwarmEngine
from containers.swarm.nodes.nodes import find_ready, find_room, read_node
from containers.swarm.placement.capacity import constraints_of, nodes_for
from tests.containers.swarm.manager import manager
from tests.fakes.messages import Answer


def node(number: int, *, state: str = "ready", availability: str = "active", memory: int = 1000, plan: str = "") -> Any:
    return read_node(
        {
            "ID": f"n{number}",
            "Spec": {
                "Availability": availability,
                "Role": "worker",
                "Labels": {"berth.plan": plan} if plan else {},
            },
            "Status": {"State": state, "Addr": "10.0.0.1"},
            "Description": {"Hostname": f"host{number}", "Resources": {"MemoryBytes": memory, "NanoCPUs": 2 * 10**9}},
        }
    )


def reserving(amount: int, *, state: str = "running", on: str = "n1") -> dict[str, Any]:
    spec = {"Resources": {"Reservations": {"MemoryBytes": amount}}}
    return {"NodeID": on, "Status": {"State": state}, "Spec": spec}


@pytest.mark.parametrize(
    ("tasks", "free"),
    [
        ([], 1000),
        ([reserving(300), reserving(200)], 500),
        ([reserving(300, state="preparing")], 700),
        ([reserving(300, state="shutdown"), reserving(300, state="failed")], 1000),
        ([reserving(300, on="n2"), reserving(300, on="")], 1000),
        ([{"NodeID": "n1", "Status": {"State": "running"}, "Spec": {}}], 1000),
        ([reserving(1200)], -200),
    ],
)
def test_free_memory_excludes_the_reservations_of_living_tasks(tasks: list[dict[str, Any]], free: int) -> None:
    assert find_room([node(1)], tasks) == {"n1": free}


def test_an_unknown_node_has_no_room_and_is_no_error() -> None:
    row = {"ID": "n9", "Spec": {"Availability": "active"}, "Status": {"State": "unknown"}}
    assert (read_node(row).name, find_room([read_node(row)], [])) == ("n9", {})


def test_a_node_that_takes_no_agents_has_no_room() -> None:
    nodes = [node(1, state="down"), node(2, availability="drain"), node(3, availability="pause"), node(4)]
    assert find_room(nodes, []) == {"n4": 1000}


@pytest.mark.parametrize(
    ("api", "missing"),
    [
        ((1, 41), ["no-new-privileges", "seccomp", "swap"]),
        ((1, 43), ["no-new-privileges", "seccomp", "swap"]),
        ((1, 44), ["swap"]),
        ((1, 51), ["swap"]),
        ((1, 52), []),
    ],
)
def test_an_older_engine_cannot_say_all(api: tuple[int, int], missing: list[str]) -> None:
    assert find_missing(api, held_by_daemons=False, runtime="") == missing
    assert find_missing(api, held_by_daemons=False, runtime="runsc") == [*missing, "runtime"]
    held = [word for word in missing if word != "no-new-privileges"]
    assert find_missing(api, held_by_daemons=True, runtime="") == held


@pytest.mark.parametrize(
    ("engine", "api"),
    [
        ("19.03.15", (0, 0)), ("20.10.24+dfsg1", (1, 41)), ("24.0.9", (1, 43)), ("25.0.0-rc.1", (1, 44)),
        ("26.1.5", (1, 45)), ("27.1.2", (1, 46)), ("27.5.1", (1, 47)), ("28.0.4", (1, 48)), ("28.5.2", (1, 51)),
        ("29.0.0", (1, 52)), ("30.1.0", (1, 52)), ("", (0, 0)), ("dev", (0, 0)),
    ],
)  # fmt: skip
def test_the_api_version_follows_from_the_engine_version(engine: str, api: tuple[int, int]) -> None:
    assert api_of(engine) == api


def test_the_oldest_node_limits_the_supported_hardening(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that was never heard from runs nothing yet. One that is heard from without a version may be of any."""
    never = {"ID": "n9", "Spec": {"Availability": "active"}, "Status": {"State": "unknown"}}
    with manager(monkeypatch) as fake:
        fake.api = "1.52"
        fake.bodies["/info"] = Answer.json(200, {"Swarm": {"NodeID": "n1"}})
        held = Confinement(Connection())
        fake.rows["nodes"] = [_running(1, "29.0.1"), never]
        assert held.missing() == []
        fake.rows["nodes"].append(_running(2, "27.3.1"))
        assert held.missing() == ["swap"]
        facts = SwarmEngine().describe_host()
        assert (facts.lacks, facts.nodes) == (("swap",), {"host1": True, "host2": True, "n9": False})
        fake.rows["nodes"].append({**_running(3, "24.0.7"), "Status": {"State": "down"}})
        assert held.missing() == ["no-new-privileges", "seccomp", "swap"]
        fake.rows["nodes"] = [_running(1, "")]
        assert held.missing() == ["no-new-privileges", "seccomp", "swap"]
        with pytest.raises(EngineRefusedError):
            held.require()


def test_nodes_that_the_manager_does_not_hear_from_are_told_apart() -> None:
    nodes = [node(1, availability="drain"), node(2, state="down"), node(3, state="unknown")]
    assert find_ready(nodes) == {"host1": True, "host2": False, "host3": False}
    twins = [replace(each, name="twin") for each in nodes[:2]]
    assert find_ready([*twins, nodes[2]]) == {"n1": True, "n2": False, "host3": False}


def _running(number: int, version: str) -> dict[str, Any]:
    described = {"Hostname": f"host{number}", "Engine": {"EngineVersion": version}}
    status = {"State": "ready", "Addr": "10.0.0.1"}
    return {"ID": f"n{number}", "Spec": {"Availability": "active"}, "Status": status, "Description": described}


def test_a_node_with_a_plans_label_is_for_that_plan_alone() -> None:
    nodes = [node(1), node(2, plan="large"), node(3, plan="small")]
    assert constraints_of("large", nodes) == ["node.labels.berth.plan == large"]
    assert [each.node_id for each in nodes_for("large", nodes)] == ["n2"]
    assert constraints_of("other", nodes) == ["node.labels.berth.plan != large", "node.labels.berth.plan != small"]
    assert [each.node_id for each in nodes_for("other", nodes)] == ["n1"]
    assert (constraints_of("any", nodes[:1]), nodes_for("any", nodes[:1])) == ([], nodes[:1])


def test_missing_hardening_is_refused_until_it_is_accepted_by_name() -> None:
    everything = find_missing((1, 41), held_by_daemons=False, runtime="runsc")
    assert set(everything) == set(MEASURES)
    for word in everything:
        refusal = explain_refusal(everything, accepted=[each for each in everything if each != word])
        assert refusal is not None
        assert word in refusal
    assert explain_refusal(everything, accepted=everything) is None
    assert explain_refusal([], accepted=[]) is None
