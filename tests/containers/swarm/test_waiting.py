"""What a Swarm says of an agent that waits for a node, and what its owner reads."""

from typing import Any

import pytest

from containers.agent_reports import Waits, parse_report
from containers.swarm.service_spec import HOME_LABEL
from containers.swarm.tasks import observe, read_service
from containers.swarm.waiting import why_it_waits
from containers.vocabulary import ContainerState
from projects.rules.status.reasons import SENTENCES
from tests.projects.rules.explaining import code_of
from tests.projects.rules.facts import EXITED, facts

pytestmark = pytest.mark.one_database
NO_NODE = "no suitable node (scheduling constraints not satisfied on 2 nodes)"


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


@pytest.mark.parametrize(
    ("found", "lost", "moves_along", "waits"),
    [
        (service(LEFT, task("2", "preparing", "n2")), {"n1"}, False, Waits.MOVES_WITHOUT_MEMORY),
        (service(LEFT, task("2", "preparing", "n2")), {"n1"}, True, Waits.MOVES),
        (service(LEFT, PENDING), {"n1"}, False, Waits.MOVES_WITHOUT_MEMORY),
        (service(LEFT, PENDING, home="n1"), {"n1"}, False, Waits.HOME_AWAY),
        (service(PENDING, home="n1"), set(), False, Waits.HOME_AWAY),
        (service(PENDING), set(), False, Waits.FOR_ROOM),
        (service(task("1", "failed", "n1"), task("2", "ready", "n1")), set(), False, None),
        (service(task("1", "failed", "n1"), task("2", "ready", "n1"), home="n1"), set(), False, None),
    ],
)
def test_why_an_agent_waits(found: Any, lost: set[str], moves_along: bool, waits: Waits | None) -> None:
    assert observe(found, lost=lost).state is ContainerState.RESTARTING
    report = why_it_waits(found, lost=lost, moves_along=moves_along)
    assert (report and report.code) == waits


@pytest.mark.parametrize("waits", Waits)
def test_its_owner_reads_it_and_no_agent_can_say_it(waits: Waits) -> None:
    known = facts(EXITED, state=ContainerState.RESTARTING, exit_code=None)
    assert code_of(known, agent_code=waits) == waits
    assert waits in SENTENCES
    said = parse_report(f'{{"v":1,"state":"degraded","code":"{waits}"}}')
    assert said is not None
    assert said.code == ""
