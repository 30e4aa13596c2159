"""Three managers: the one that Berth talks to is restarted, and the leader is killed.

`.venv/bin/python -m pytest tests/containers/swarm/test_of_three_managers.py --whole -s` takes three minutes.
`make test` runs it in one of 24 commits. `test_new_leaders.py` runs in each, and tests nodes that a new leader has not
heard from.
"""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from containers.errors import EngineError, EngineUnavailableError, StillStoppingError
from tests.containers.engine_fixtures import deploy
from tests.containers.swarm.cluster import SwarmNode
from tests.containers.swarm.moves import Witness, deploy_many, where_they_run
from tests.containers.swarm.one_node import Swarm, some_nodes
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.rare(24), pytest.mark.timeout(600)]

AGENTS = 3
AWAY = 3.0
BACK_WITHIN = 90.0


@pytest.fixture
def swarm() -> Iterator[Swarm]:
    made = some_nodes(3, heartbeat=1.0, managers=3)
    with made as found, pytest.MonkeyPatch.context() as patch, found.settings(patch):
        yield found


def test_a_manager_lost_and_back(swarm: Swarm) -> None:
    keys = deploy_many(swarm.under_test(), AGENTS)
    with Witness(swarm.engine) as witness:
        spoken_with = swarm.cluster.manager
        assert swarm.cluster.leader() is spoken_with
        spoken_with.end(signal.SIGTERM)
        ended_at = time.monotonic()
        time.sleep(AWAY)
        witness.require_truth(spoken_with, since=ended_at, until=time.monotonic())
        swarm.revive(spoken_with)
        took = wait_for_all(swarm, keys) - ended_at
        say(f"The manager that is spoken with, away for {AWAY:g} s: all agents run after {took:.1f} s.")

        leader = swarm.cluster.leader()
        assert leader is not spoken_with
        swarm.cluster.kill(leader)
        killed_at = time.monotonic()
        refused = command_until_one_is_carried_out(swarm, keys[0])
        say(f"The leader killed: a deploy after {time.monotonic() - killed_at:.1f} s; before: {refused}.")
        took = wait_for_all(swarm, keys) - killed_at
        say(f"All agents run elsewhere after {took:.1f} s.")
        witness.require_truth(leader, since=killed_at, until=time.monotonic())
        say(f"{len(witness.said)} answers, and in their place: {sorted(witness.failures)}")
    swarm.revive(leader)
    for key in keys:
        swarm.engine.stop(key, timeout=1)
        swarm.engine.remove(key, volumes=True)
    assert swarm.engine.observe({}) == []
    wait_until(lambda: not any(running(swarm, swarm.cluster.nodes)), within=BACK_WITHIN)


def command_until_one_is_carried_out(swarm: Swarm, key: str) -> set[str]:
    """Deploys again and again until it succeeds. Returns the refusals before, which must be temporary errors.

    Asserts that two generations of the agent never run at once.
    """
    said, until, generation = set[str](), time.monotonic() + BACK_WITHIN, 1
    while time.monotonic() < until:
        generation += 1
        try:
            with swarm.engine.deadline(5):
                deploy(swarm.under_test(), key=key, generation=generation)
        except (EngineUnavailableError, StillStoppingError) as error:
            said.add(str(error))
        else:
            return said
        finally:
            require_no_former(swarm)
    raise AssertionError(said)


def wait_for_all(swarm: Swarm, keys: list[str]) -> float:
    """Waits until all agents are reported as running and do run."""

    def run() -> bool:
        require_no_former(swarm)
        with suppress(EngineError):
            return {key for there in where_they_run(swarm.engine).values() for key in there} == set(keys)
        return False

    wait_until(run, within=BACK_WITHIN)
    wait_until(lambda: len(running(swarm, alive(swarm))) == len(keys), within=BACK_WITHIN)
    return time.monotonic()


def require_no_former(swarm: Swarm) -> None:
    """Asserts that no two generations of an agent run.

    A new leader may start one generation twice. The gateway lets only one of the two through.
    """
    found = {(label["berth.project"], label["berth.generation"]) for label in running(swarm, alive(swarm))}
    assert len(found) == len({key for key, _ in found}), f"Two of one run at once: {found}"


def alive(swarm: Swarm) -> list[SwarmNode]:
    return [node for node in swarm.cluster.nodes if node.is_there]


def running(swarm: Swarm, nodes: list[SwarmNode]) -> list[dict[str, str]]:
    """Returns the labels of the running containers, as the engine of each node reports them."""
    chosen = {"label": "berth.project"}
    return [each["Labels"] for node in nodes for each in node.client.containers(filters=chosen)]


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
