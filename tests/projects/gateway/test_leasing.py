"""Of the gateways of several nodes one at a time lets an agent through: that of the node on which it runs."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from containers.errors import EngineUnavailableError
from containers.gateway.leases import LEASE
from containers.gateway.protocol import GatewayClient
from containers.gateway.transport import NOT_THERE
from projects.models import Project
from projects.services.gateway.entry import is_in_force
from projects.services.gateway.holders import Holding
from projects.services.gateway.moves import WAIT_FOR
from projects.services.gateway.telling import tell
from projects.watcher.gateway.leases import SILENT_AFTER, Round
from projects.watcher.gateway.leaving import make_void
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.fakes.engine import MemoryEngine
from tests.projects.gateway.nodes import NodeGateway, Nodes

pytestmark = pytest.mark.django_db
Control = Callable[..., Any]


@pytest.fixture
def nodes(engine: MemoryEngine, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nodes:
    settings.BERTH_GATEWAY_ON_EACH_NODE = True
    found = Nodes(tmp_path)
    monkeypatch.setattr(engine, "gateways", found.gateways)
    monkeypatch.setattr(engine, "places", found.places)
    return found


@pytest.fixture
def leader(nodes: Nodes) -> Round:
    return Round(lambda: nodes.now)


@pytest.fixture
def agent(nodes: Nodes, leader: Round, deploy: Callable[..., Project]) -> Project:
    """Runs on the node a, whose gateway lets it through."""
    project = deploy()
    assert not nodes.letting_pass(project), "It is told everywhere, and counts nowhere."
    nodes.run_on(project, "a")
    leader.run()
    assert nodes.letting_pass(project) == {"a"}
    return project


def test_it_goes_on_as_long_as_leases_are_renewed(nodes: Nodes, leader: Round, agent: Project) -> None:
    for _ in range(5):
        nodes.now += LEASE / 2
        leader.run()
        assert nodes.letting_pass(agent) == {"a"}
    nodes.now += LEASE
    assert not nodes.letting_pass(agent), "Nobody has renewed it."


def test_where_it_has_moved_it_counts_as_soon_as_it_is_void_on_the_node_before(
    nodes: Nodes, leader: Round, agent: Project
) -> None:
    nodes.run_on(agent, "b")
    leader.run()
    assert nodes.letting_pass(agent) == {"b"}
    nodes.run_on(agent, "a")
    leader.run()
    assert nodes.letting_pass(agent) == {"a"}


def test_from_a_node_that_is_cut_off_it_moves_when_the_last_lease_is_over_for_certain(
    nodes: Nodes, leader: Round, agent: Project
) -> None:
    nodes.by_name["a"].is_there = False
    cut_at = nodes.now
    while nodes.now < cut_at + SILENT_AFTER:
        nodes.now += 2
        leader.run()
    nodes.run_on(agent, "b")
    while "b" not in nodes.letting_pass(agent):
        assert len(nodes.letting_pass(agent)) <= 1
        nodes.now += 2
        leader.run()
    assert nodes.letting_pass(agent) == {"b"}
    assert WAIT_FOR <= nodes.now - cut_at <= SILENT_AFTER + WAIT_FOR + 6, "The time has run since it fell silent."
    nodes.by_name["a"].is_there = True
    leader.run()
    assert nodes.letting_pass(agent) == {"b"}


def test_after_a_short_silence_it_counts_where_it_was(nodes: Nodes, leader: Round, agent: Project) -> None:
    nodes.by_name["a"].is_there = False
    for _ in range(3):
        nodes.now += SILENT_AFTER
        leader.run()
    agent.refresh_from_db()
    assert agent.leaves_node
    nodes.by_name["a"].is_there = True
    leader.run()
    assert nodes.letting_pass(agent) == {"a"}


@pytest.mark.parametrize("teller", ["the watcher", "a command"])
def test_a_node_that_it_leaves_hears_nothing_that_undoes_it(
    nodes: Nodes, leader: Round, agent: Project, control: Control, teller: str
) -> None:
    """It was silent for a while, and its lease runs on; the agent has moved, and somebody tells all nodes."""
    nodes.by_name["a"].is_there = False
    nodes.now += SILENT_AFTER
    leader.run()
    nodes.by_name["a"].is_there = True
    nodes.run_on(agent, "b")
    if teller == "the watcher":
        look_after_gateway()
        assert nodes.letting_pass(agent) == {"a"}, "Whoever gives leases makes it void."
    else:
        agent.refresh_from_db()
        tell(agent)
        assert nodes.letting_pass(agent) == set()
    leader.run()
    assert nodes.letting_pass(agent) == {"b"}


def test_leases_wait_for_no_gateway_that_hangs(
    nodes: Nodes, leader: Round, agent: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers what needs no disk."""
    Project.objects.filter(pk=agent.pk).update(leaves_node=True)
    nodes.run_on(agent, "b")
    heard = []

    def hang(line: bytes, *, within: float) -> bytes:
        heard.append(json.loads(line)["do"])
        if heard[-1] == "apply":
            raise EngineUnavailableError(NOT_THERE)
        return NodeGateway.exchange(nodes.by_name["a"], line, within=within)

    monkeypatch.setattr(nodes.by_name["a"], "exchange", hang)
    monkeypatch.setattr(leader, "_grant", lambda *_: heard.append("leases"))
    leader.run()
    assert heard[:3] == ["ping", "leases", "apply"]


class Hanging:
    def __init__(self) -> None:
        self.asked = 0

    def exchange(self, line: bytes, *, within: float) -> bytes:
        self.asked += 1
        raise EngineUnavailableError(NOT_THERE)

    def prepare(self, *, within: float) -> None:
        """There is nothing to prepare."""


def test_a_gateway_that_hangs_is_asked_once_and_keeps_no_other_waiting(nodes: Nodes) -> None:
    hanging = Hanging()
    leaving = [Holding(uuid4(), version, node, leaves=True, counts=True) for version in range(5) for node in "ab"]
    void, sick = make_void(leaving, {"a": hanging, "b": nodes.by_name["b"]}, within=2)
    assert (void, sick, hanging.asked) == ({each for each in leaving if each.node == "b"}, {"a"}, 1)


def test_a_gateway_that_is_not_at_work_counts_as_one_that_does_not_answer(nodes: Nodes) -> None:
    nodes.by_name["a"].is_ready = False
    with pytest.raises(EngineUnavailableError, match="not at work"):
        GatewayClient(nodes.by_name["a"]).read_clock()


def test_a_stop_counts_at_once_and_a_start_waits_for_nobody(
    nodes: Nodes, leader: Round, agent: Project, control: Control
) -> None:
    assert control(agent, "stop").status_code == 200
    assert not nodes.letting_pass(agent)
    assert nodes.by_name["a"].is_void(agent), "Who shows its credential is refused."
    agent.refresh_from_db()
    assert agent.gateway_node == ""
    assert control(agent, "start").status_code == 200
    assert not nodes.by_name["a"].is_void(agent), "It is asked to wait for its lease, wherever it comes."
    nodes.run_on(agent, "b")
    leader.run()
    assert nodes.letting_pass(agent) == {"b"}


@pytest.mark.every_case
def test_a_stop_of_which_its_node_does_not_hear(nodes: Nodes, leader: Round, agent: Project, control: Control) -> None:
    nodes.by_name["a"].is_there = False
    control(agent, "stop")
    control(agent, "start")
    nodes.run_on(agent, "b")
    began = nodes.now
    while "b" not in nodes.letting_pass(agent):
        assert len(nodes.letting_pass(agent)) <= 1
        nodes.now += 5
        leader.run()
    assert nodes.now - began >= WAIT_FOR


def test_leases_go_on_while_the_engine_is_silent(nodes: Nodes, leader: Round, agent: Project) -> None:
    nodes.is_silent = True
    nodes.run_on(agent, "b")
    for _ in range(3):
        nodes.now += LEASE / 2
        leader.run()
        assert nodes.letting_pass(agent) == {"a"}


def test_a_gateway_that_was_started_anew_has_its_leases_with_the_next_round(
    nodes: Nodes, leader: Round, agent: Project
) -> None:
    nodes.by_name["a"].restart()
    assert not nodes.letting_pass(agent)
    leader.run()
    assert nodes.letting_pass(agent) == {"a"}


def test_the_watcher_tells_each_node_what_it_has_missed(nodes: Nodes, leader: Round, agent: Project) -> None:
    nodes.by_name["b"].is_there = False
    Project.objects.filter(pk=agent.pk).update(entry_version=50)
    look_after_gateway()
    leader.run()
    nodes.by_name["b"].is_there = True
    look_after_gateway()
    agent.refresh_from_db()
    held = [node.table.versions()[agent.container_key] for node in nodes.by_name.values()]
    assert held == [{"version": agent.entry_version, "void": False}] * 2
    assert nodes.letting_pass(agent) == {"a"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(4))
def test_two_never_count_whatever_leaders_nodes_and_owners_do(
    nodes: Nodes, agent: Project, control: Control, seed: int
) -> None:
    chance = random.Random(seed)
    leaders = [Round(lambda: nodes.now) for _ in range(2)]
    acts: list[Callable[[], object]] = [
        *[lambda: chance.choice(leaders).run()] * 3,
        lambda: nodes.run_on(agent, chance.choice("ab")),
        lambda: _cut_or_mend(nodes.by_name[chance.choice("ab")]),
        lambda: _restart(nodes.by_name[chance.choice("ab")]),
        look_after_gateway,
        lambda: control(agent, chance.choice(["stop", "start"])),
    ]
    for _ in range(40):
        chance.choice(acts)()
        assert len(nodes.letting_pass(agent)) <= 1
        nodes.now += chance.choice([0, 1, 2, 2, 10, WAIT_FOR])
    _heal(nodes, leaders[0])
    agent.refresh_from_db()
    assert nodes.letting_pass(agent) == ({nodes.places_of[agent.container_key]} if is_in_force(agent) else set())


def _cut_or_mend(node: NodeGateway) -> None:
    node.is_there = not node.is_there


def _restart(node: NodeGateway) -> None:
    node.restart()


def _heal(nodes: Nodes, leader: Round) -> None:
    for node in nodes.by_name.values():
        node.is_there = True
    for _ in range(4):
        look_after_gateway()
        leader.run()
        nodes.now += WAIT_FOR / 2
    leader.run()
