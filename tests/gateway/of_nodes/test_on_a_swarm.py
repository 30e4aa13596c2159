"""An agent behind the gateway of its node, on a real Swarm of three nodes.

`.venv/bin/python -m pytest tests/gateway/of_nodes --whole -s` takes some ten minutes, and root: nodes are cut off for a
minute and killed, and so are gateways. In a few runs of the whole test command it is the short way alone.
"""

import time
from collections.abc import Iterator

import pytest

from containers.docker_api.stats import Meter
from containers.programs import is_root
from containers.vocabulary import Usage
from projects.watcher.gateway.leases import Round
from tests.containers.swarm.cluster import SwarmNode
from tests.gateway.of_nodes.fleet import Fleet, fleet, report
from tests.gateway.of_nodes.world import run_node_script

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.django_db,
    pytest.mark.rare(24),
    pytest.mark.timeout(900),
    pytest.mark.skipif(not is_root(), reason="takes the right to make networks"),
]
PATIENCE = 90.0
"""Seconds for steps that have no limit of their own."""

CUT = 60.0
AWAY = 20.0
"""Seconds without a leader."""

SOME_MEMORY = 2**22

ELSEWHERE_WITHIN = 60.0
"""Seconds from a node's end until its agent answers on another one."""


@pytest.fixture
def ships(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    with fleet(monkeypatch) as found:
        yield found


def test_an_agent_moves_between_nodes_and_only_one_container_polls(ships: Fleet, pytestconfig: pytest.Config) -> None:
    """The same agent for all tests, because three engines take long to start."""
    manager = ships.cluster.manager
    ships.cluster.set_availability(manager, "pause")
    project = ships.deploy()
    ships.cluster.set_availability(manager, "active")
    report(f"answers {ships.answers('ahoy', within=PATIENCE):.1f} s after its deploy")
    node = ships.node_of(project)
    assert node is not manager
    _measure(ships, node)
    assert ships.ask_in_its_name(project, node) == 503, "Who is not the agent is asked to come again."
    ships.control(project, "stop")
    assert ships.ask_in_its_name(project, node) == 503, "It may count on another node."
    ships.control(project, "start")
    report(f"answers {ships.answers('ahoy', within=PATIENCE):.1f} s after its start")
    if pytestconfig.getoption("--whole"):
        ships.kill_gateway(ships.node_of(project))
        report(f"answers {ships.answers('again', within=PATIENCE):.1f} s after its gateway was killed")
        time.sleep(AWAY)
        ships.leader = Round()
        report(f"answers {ships.answers('still', within=PATIENCE):.1f} s after another watcher leads")
        ships.settle_on_a_worker(project)
        _cut_off(ships)
        ships.settle_on_a_worker(project)
        _lose_the_manager(ships)
        _kill(ships)
        assert len({who for who, _, _ in ships.telegram.polls_of}) > 3, "It has been several containers."
    ships.require_one_poller()


def _measure(ships: Fleet, node: SwarmNode) -> None:
    """For an agent on another node, the API reports what that node's engine says about it."""
    before = _ask_engine(ships, node)
    told = ships.api.get(f"/api/projects/{ships.project.pk}/stats")
    after = _ask_engine(ships, node)
    assert told.status_code == 200, told.content
    usage = told.json()
    report(f"uses {usage} on {node.name}")
    assert (usage["memory_limit"], usage["pids"]) == (before.memory_limit, before.pids)
    assert abs(usage["memory"] - before.memory) < SOME_MEMORY
    for name in ("network_received", "network_sent"):
        assert 0 < getattr(before, name) <= usage[name] <= getattr(after, name)
    assert 0 < usage["cpu_percent"] < 100


def _ask_engine(ships: Fleet, node: SwarmNode) -> Usage:
    [found] = node.client.containers(filters={"label": [f"berth.project={ships.project.container_key}"]})
    counters = node.client.stats(found["Id"], stream=False, one_shot=True)
    usage = Meter().read(found["Id"], counters, started_at=None)
    assert usage
    return usage


def _cut_off(ships: Fleet) -> None:
    node = ships.node_of(ships.project)
    cut_at = time.monotonic()
    ships.cut(node)
    ships.telegram.say(ships.token, 1, "are you there?")
    ships.watch_for(CUT)
    ships.cut(node, "-D")
    now = ships.node_of(ships.project)
    assert now is not node
    report(f"cut off from {node.name} for {time.monotonic() - cut_at:.0f} s, and on {now.name}")
    report(f"answers {ships.answers('and now?', within=PATIENCE):.1f} s after the cut was mended")
    ships.watch_for(AWAY)
    ships.require_one_poller()


def _lose_the_manager(ships: Fleet) -> None:
    """Leases are renewed without it, for longer than one lasts."""
    manager = ships.cluster.manager
    ships.cluster.kill(manager)
    ships.watch_for(2 * AWAY)
    report(f"answers {ships.answers('alone?', within=PATIENCE):.1f} s later, without a manager for {2 * AWAY:.0f} s")
    ships.cluster.revive(manager)
    run_node_script(manager)
    report(f"answers {ships.answers('back?', within=PATIENCE):.1f} s later, when the manager is back")


def _kill(ships: Fleet) -> None:
    node = ships.node_of(ships.project)
    ships.cluster.kill(node)
    took = ships.answers("who is next?", within=PATIENCE)
    report(f"answers {took:.1f} s after {node.name} was killed, on {ships.node_of(ships.project).name}")
    assert took < ELSEWHERE_WITHIN
