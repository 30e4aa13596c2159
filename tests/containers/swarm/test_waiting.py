"""The reason for which an agent waits for a node, as the Swarm reports it and as the owner reads it."""

from typing import Any

import pytest

from containers.agent_reports import Waits, parse_report
from containers.docker_api.client import Connection
from containers.swarm.observation.logs import Logs
from containers.swarm.observation.observations import Observations
from containers.swarm.services.services import Services
from containers.swarm.tasks.service_spec import HOME_LABEL
from containers.swarm.tasks.tasks import observe, read_service
from containers.swarm.tasks.waiting import why_it_waits
from containers.vocabulary import ContainerState
from projects.rules.status.sentences import SENTENCES
from tests.containers.docker_api.calling import SPEC
from tests.containers.swarm.manager import manager
from tests.containers.swarm.test_node_gateways import node
from tests.projects.rules.explaining import code_of
from tests.projects.rules.facts import EXITED, facts

pytestmark = pytest.mark.one_database
NO_NODE = "no suitable node (scheduling constraints not satisfied on 2 nodes)"
NO_ROOM = "no suitable node (insufficient resources on 1 node; scheduling constraints not satisfied on 2 nodes)"


def task(name: str, state: str, node: str = "", *, wanted: bool = True, error: str = "") -> dict[str, Any]:
    container = {"ContainerStatus": {"ContainerID": f"c-{name}"}} if state == "running" else {}
    return {
        "ID": name,
        "ServiceID": "s",
        "NodeID": node,
        "DesiredState": "running" if wanted else "shutdown",
        "CreatedAt": f"2026-01-01T00:00:0{name}Z",
        "Spec": {},
        "Status": {"State": state, "Timestamp": "2026-01-01T00:00:00Z", "Err": error, **container},
    }


def service(*tasks: dict[str, Any], home: str = "") -> Any:
    spec = {
        "Name": "a",
        "Labels": {HOME_LABEL: home} if home else {},
        "Mode": {"Replicated": {"Replicas": 1}},
        "TaskTemplate": {"ContainerSpec": {}, "Placement": {}},
    }
    return read_service({"ID": "s", "Version": {"Index": 1}, "CreatedAt": "2026-01-01T00:00:00Z", "Spec": spec}, tasks)


LEFT = task("1", "running", "n1", wanted=False)
PENDING = task("2", "pending", error=NO_NODE)
FULL = task("2", "pending", error=NO_ROOM)


@pytest.mark.parametrize(
    ("found", "lost", "moves_along", "waits"),
    [
        (service(LEFT, task("2", "preparing", "n2")), {"n1"}, False, Waits.MOVES_WITHOUT_MEMORY),
        (service(LEFT, task("2", "preparing", "n2")), {"n1"}, True, Waits.MOVES),
        (service(LEFT, PENDING), {"n1"}, False, Waits.MOVES_WITHOUT_MEMORY),
        (service(LEFT, PENDING, home="n1"), {"n1"}, False, Waits.HOME_AWAY),
        (service(PENDING, home="n1"), set(), False, Waits.HOME_AWAY),
        (service(FULL, home="n1"), set(), False, Waits.FOR_ROOM),
        (service(FULL, home="n1"), {"n1"}, False, Waits.HOME_AWAY),
        (service(FULL, home="drained"), set(), False, Waits.HOME_AWAY),  # it is another one that is full
        (service(FULL), set(), False, Waits.FOR_ROOM),
        (service(PENDING), set(), False, Waits.FOR_ROOM),
        (service(task("1", "failed", "n1"), task("2", "ready", "n1")), set(), False, None),
        (service(task("1", "failed", "n1"), task("2", "ready", "n1"), home="n1"), set(), False, None),
    ],
)
def test_why_an_agent_waits(found: Any, lost: set[str], moves_along: bool, waits: Waits | None) -> None:
    assert observe(found, lost=lost).state is ContainerState.RESTARTING
    report = why_it_waits(found, lost=lost, moves_along=moves_along, takes_tasks="n1".__eq__)
    assert (report and report.code) == waits


def test_a_home_that_is_full_is_not_called_away_and_one_that_is_drained_beside_a_full_one_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def inspect() -> str:
        services = Services(Connection())
        looks = Observations(Connection(), services, Logs(Connection(), services, frozenset), frozenset)
        seen = looks.inspect(SPEC.key, briefly=False)
        return seen.report.code if seen and seen.report else ""

    with manager(monkeypatch) as swarm:
        labels = {**SPEC.labels, "berth.generation": "1", HOME_LABEL: "n1"}
        spec = {"Name": SPEC.name, "Labels": labels, "Mode": {"Replicated": {}}, "TaskTemplate": {}}
        row = {"ID": "s", "Version": {"Index": 1}, "CreatedAt": "2026-01-01T00:00:00Z", "Spec": spec}
        swarm.rows |= {"services": [row], "tasks": [FULL], "nodes": [node(1), node(2)]}
        assert inspect() == Waits.FOR_ROOM
        swarm.rows["nodes"][0]["Spec"]["Availability"] = "drain"
        assert inspect() == Waits.HOME_AWAY


@pytest.mark.parametrize("waits", Waits)
def test_only_the_owner_reads_the_reason_and_no_agent_can_forge_it(waits: Waits) -> None:
    known = facts(EXITED, state=ContainerState.RESTARTING, exit_code=None)
    assert code_of(known, agent_code=waits) == waits
    assert waits in SENTENCES
    said = parse_report(f'{{"v":1,"state":"degraded","code":"{waits}"}}')
    assert said is not None
    assert said.code == ""
