"""The state of an agent that follows from its service's tasks, for every state of the tasks and of their nodes."""

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest

from containers.swarm.nodes.nodes import ENDED
from containers.swarm.tasks.service_spec import CRASHES_LABEL, HELD
from containers.swarm.tasks.tasks import Service, observe, read_service
from containers.vocabulary import ContainerState, Observation

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
STATES = (
    "new", "pending", "assigned", "accepted", "preparing", "ready", "starting", "running",
    "complete", "shutdown", "failed", "rejected", "remove", "orphaned",
)  # fmt: skip


def task(number: int, state: str, *, desired: str = "running", node: str = "n1", code: int = 0) -> dict[str, Any]:
    """Returns a task. A higher number means a later one. A new or pending task has no node."""
    at = (BEGAN + timedelta(minutes=number)).isoformat()
    has_container = state in {"running", "complete", "shutdown", "failed"}
    return {
        "ID": f"t{number}",
        "CreatedAt": at,
        "DesiredState": desired,
        "NodeID": "" if state in {"new", "pending"} else node,
        "Status": {
            "State": state,
            "Timestamp": at,
            "ContainerStatus": {"ContainerID": f"c{number}", "ExitCode": code} if has_container else None,
        },
    }


def service(*tasks: dict[str, Any], replicas: int = 1, is_held: bool = False) -> Service:
    template = {"ContainerSpec": {}, "Placement": {"Constraints": [HELD] if is_held else []}}
    spec = {"Name": "berth-x", "Labels": {"berth.project": "x"}, "TaskTemplate": template}
    mode = {"Mode": {"Replicated": {"Replicas": replicas}}}
    row = {"ID": "s", "Version": {"Index": 3}, "CreatedAt": BEGAN.isoformat(), "Spec": {**spec, **mode}}
    return read_service(row, tasks)


def look(*tasks: dict[str, Any], lost: tuple[str, ...] = (), **options: Any) -> Observation:
    return observe(service(*tasks, **options), lost=lost)


def test_a_service_that_never_had_a_task_is_created() -> None:
    assert look(replicas=0).state is ContainerState.CREATED
    assert not look(replicas=0).is_up


def test_a_running_task_counts_from_its_node_s_report() -> None:
    seen = look(task(1, "running"))
    assert (seen.state, seen.node, seen.started_at) == (ContainerState.RUNNING, "n1", BEGAN + timedelta(minutes=1))
    assert seen.exit_code is None


@pytest.mark.parametrize("state", [state for state in STATES if state != "running"])
def test_a_service_that_should_run_but_does_not_is_restarting(state: str) -> None:
    seen = look(task(1, "failed", desired="shutdown", code=3), task(2, state))
    assert (seen.state, seen.is_silent) == (ContainerState.RESTARTING, False)
    assert seen.exit_code is not None


@pytest.mark.parametrize("state", [state for state in STATES if state not in ENDED | {"new", "pending"}])
def test_a_stopping_service_is_up_until_no_task_can_be_alive(state: str) -> None:
    assert look(task(1, state, desired="shutdown"), replicas=0).is_up
    assert look(task(1, state, desired="shutdown"), task(2, "pending"), is_held=True).is_up


@pytest.mark.parametrize(("state", "code"), [("shutdown", 0), ("complete", 0), ("failed", 137), ("shutdown", 143)])
def test_a_stopped_service_has_its_exit_code(state: str, code: int) -> None:
    seen = look(task(1, state, desired="shutdown", code=code), replicas=0)
    assert (seen.state, seen.exit_code, seen.is_up) == (ContainerState.EXITED, code, False)
    assert seen.finished_at == BEGAN + timedelta(minutes=1)


def test_crashes_are_counted_and_stops_are_not() -> None:
    ended = [task(1, "failed"), task(2, "complete"), task(3, "shutdown", desired="shutdown")]
    assert look(*ended, task(4, "running")).restart_count == 2


def test_crashes_that_the_swarm_has_forgotten_stay_counted() -> None:
    """Each observation adds the crashes since the label was written."""
    seen = service(task(4, "failed"), task(5, "failed"), task(6, "running"))
    label = f"7@{(BEGAN + timedelta(minutes=4)).isoformat()}"
    counted = seen._replace(labels={"berth.project": "x", CRASHES_LABEL: label})
    assert (seen.crashes, counted.crashes) == (2, 8)
    assert observe(counted).labels == {"berth.project": "x"}


@pytest.mark.parametrize(
    ("state", "is_held", "desired"), [*product(STATES, (False, True), ("running", "shutdown", "ready"))]
)
def test_nothing_on_a_lost_node_is_shown_as_running_or_stopped(state: str, is_held: bool, desired: str) -> None:
    """What may live there is unknown. What had ended before the loss is known."""
    seen = look(task(1, state, desired=desired), is_held=is_held, lost=("n1",))
    if state in ENDED or state in {"new", "pending"}:
        assert not seen.is_silent
        assert seen.state is not ContainerState.RUNNING
    else:
        assert seen.is_silent


def test_a_replaced_task_is_restarting_and_then_running_elsewhere() -> None:
    lost_one = task(1, "running", desired="shutdown")
    assert look(lost_one, task(2, "preparing", node="n2"), lost=("n1",)).state is ContainerState.RESTARTING
    there = look(lost_one, task(2, "running", node="n2"), lost=("n1",))
    assert (there.state, there.node, there.is_silent) == (ContainerState.RUNNING, "n2", False)


def test_a_stopping_task_on_a_lost_node_is_not_shown_as_stopped() -> None:
    seen = look(task(1, "running", desired="shutdown"), task(2, "pending"), is_held=True, lost=("n1",))
    assert seen.is_silent
