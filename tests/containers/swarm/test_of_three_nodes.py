"""Agents on a real Swarm of three nodes, of which one is killed, drained or cut off.

`make test` uses four agents and a heartbeat of one second. With sixty agents and Docker's usual five seconds it takes
minutes: `.venv/bin/python -m pytest tests/containers/swarm/test_of_three_nodes.py --whole -s`.
"""

import sys
import time
from collections.abc import Iterator

import pytest
from django.core.management import call_command

from containers.errors import ContainerSilentError, EngineUnavailableError
from containers.vocabulary import ContainerState
from tests.containers.engine_fixtures import deploy
from tests.containers.swarm.cluster import SwarmNode
from tests.containers.swarm.moves import NOTICED_WITHIN, Witness, deploy_many, where_they_run
from tests.containers.swarm.one_node import Swarm, some_nodes
from tests.waiting import wait_until

SOME, MANY = 4, 60
"""The number of agents, and the number with `--whole`."""

OFTEN, AS_USUAL = 1.0, 5.0
"""Seconds between two heartbeats of a node, and the same with `--whole`."""

MOVED_WITHIN = 60.0

pytestmark = [pytest.mark.docker, pytest.mark.rare(12)]


Spread = tuple[Swarm, list[str]]


@pytest.fixture(scope="module")
def spread(pytestconfig: pytest.Config) -> Iterator[Spread]:
    """Agents on all nodes. Each test leaves all nodes ready, and the agents on any of them."""
    agents, heartbeat = (MANY, AS_USUAL) if pytestconfig.getoption("--whole") else (SOME, OFTEN)
    with some_nodes(3, heartbeat=heartbeat) as swarm, pytest.MonkeyPatch.context() as patch, swarm.settings(patch):
        keys = deploy_many(swarm.under_test(), agents)
        found = where_they_run(swarm.engine)
        assert {key for there in found.values() for key in there} == set(keys)
        assert found.keys() == {node.node_id for node in swarm.cluster.nodes}
        yield swarm, keys


def _find_busy(swarm: Swarm) -> SwarmNode:
    """Returns a worker that runs an agent."""
    found = where_they_run(swarm.engine)
    return next(node for node in swarm.cluster.nodes[1:] if node.node_id in found)


def test_a_killed_node_is_never_shown_running_agents_and_they_run_elsewhere(
    spread: Spread,
) -> None:
    swarm, keys = spread
    victim = _find_busy(swarm)
    theirs = where_they_run(swarm.engine)[victim.node_id]
    with Witness(swarm.engine) as witness:
        wait_until(lambda: witness.said)
        swarm.cluster.kill(victim)
        killed_at = time.monotonic()
        wait_until(lambda: _run_without(swarm, victim, keys), within=MOVED_WITHIN)
        took = time.monotonic() - killed_at
    lies = [said for said in witness.said if said.began > killed_at + NOTICED_WITHIN and said.node == victim.node_id]
    assert not [said for said in lies if said.is_running]
    unknown = [said for said in witness.said if said.key in theirs and said.began > killed_at and not said.is_running]
    assert {said.key for said in unknown} == theirs
    sys.stdout.write(
        f"{len(theirs)} of {len(keys)} agents ran elsewhere after {took:.1f} s: {len(witness.said)} answers\n"
    )
    swarm.revive(victim)


def _run_without(swarm: Swarm, victim: SwarmNode, keys: list[str]) -> bool:
    found = where_they_run(swarm.engine)
    return victim.node_id not in found and sum(map(len, found.values())) == len(keys)


def test_agents_of_a_drained_node_move_and_staff_see_it(spread: Spread, capsys: pytest.CaptureFixture[str]) -> None:
    swarm, keys = spread
    drained = _find_busy(swarm)
    swarm.cluster.set_availability(drained, "drain")
    drained_at = time.monotonic()
    wait_until(lambda: _run_without(swarm, drained, keys), within=MOVED_WITHIN)
    with capsys.disabled():
        sys.stdout.write(f"A drained node is left after {time.monotonic() - drained_at:.1f} s.\n")
    call_command("swarm")
    [told] = [line for line in capsys.readouterr().out.splitlines() if drained.node_id in line]
    assert "ready, drained," in told
    assert told.endswith("takes no agents, 0 agents here")
    swarm.cluster.set_availability(drained, "active")


def test_an_agent_on_a_cut_off_node_is_never_shown_as_stopped(
    spread: Spread,
) -> None:
    swarm, _ = spread
    away = _find_busy(swarm)
    swarm.cluster.cut(away)
    try:
        key = min(_silent(swarm))
        with swarm.engine.deadline(4), pytest.raises(EngineUnavailableError):
            swarm.engine.stop(key, timeout=1)
        with pytest.raises(ContainerSilentError):
            swarm.engine.inspect(key)
        with pytest.raises(ContainerSilentError):
            deploy(swarm.under_test(), key=key)
        # A newer deploy does what the Swarm would do: it leaves alone what nobody can reach.
        made = deploy(swarm.under_test(), key=key, generation=2)
        assert (made.state, made.is_silent, made.generation) == (ContainerState.RUNNING, False, 2)
        assert made.node != away.node_id
    finally:
        swarm.cluster.mend(away)


def _silent(swarm: Swarm) -> set[str]:
    return wait_until(lambda: {each.key for each in swarm.engine.observe({}) if each.is_silent})
