"""Only one node's gateway at a time lets an agent through: that of the node on which it runs."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from containers.gateway.leases import LEASE
from projects.models import Project
from projects.services.gateway.entry import is_in_force
from projects.services.gateway.entry_moves import WAIT_FOR
from projects.watcher.gateway.leases import SILENT_AFTER, Round
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.projects.gateway.nodes import NodeGateway, Nodes

pytestmark = pytest.mark.django_db
Control = Callable[..., Any]


def test_an_agent_is_served_while_its_lease_is_renewed(nodes: Nodes, leader: Round, agent: Project) -> None:
    for _ in range(5):
        nodes.now += LEASE / 2
        leader.run()
        assert nodes.letting_pass(agent) == {"a"}
    nodes.now += LEASE
    assert not nodes.letting_pass(agent), "Nobody has renewed it."


def test_a_moved_agent_counts_as_soon_as_it_is_void_on_its_former_node(
    nodes: Nodes, leader: Round, agent: Project
) -> None:
    nodes.run_on(agent, "b")
    leader.run()
    assert nodes.letting_pass(agent) == {"b"}
    nodes.run_on(agent, "a")
    leader.run()
    assert nodes.letting_pass(agent) == {"a"}


def test_an_agent_leaves_a_cut_off_node_when_its_last_lease_is_certainly_over(
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


def test_after_a_short_silence_an_agent_counts_on_its_node_again(nodes: Nodes, leader: Round, agent: Project) -> None:
    nodes.by_name["a"].is_there = False
    for _ in range(3):
        nodes.now += SILENT_AFTER
        leader.run()
    agent.refresh_from_db()
    assert agent.leaves_node
    nodes.by_name["a"].is_there = True
    leader.run()
    assert nodes.letting_pass(agent) == {"a"}


def test_a_stop_counts_at_once_and_a_start_does_not_wait(
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
def test_a_stop_that_misses_its_node_counts_when_the_lease_ends(
    nodes: Nodes, leader: Round, agent: Project, control: Control
) -> None:
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


def test_leases_are_renewed_while_the_engine_is_silent(nodes: Nodes, leader: Round, agent: Project) -> None:
    nodes.is_silent = True
    nodes.run_on(agent, "b")
    for _ in range(3):
        nodes.now += LEASE / 2
        leader.run()
        assert nodes.letting_pass(agent) == {"a"}


def test_a_restarted_gateway_gets_its_leases_in_the_next_round(nodes: Nodes, leader: Round, agent: Project) -> None:
    nodes.by_name["a"].restart()
    assert not nodes.letting_pass(agent)
    leader.run()
    assert nodes.letting_pass(agent) == {"a"}


def test_the_watcher_sends_each_node_its_missed_entries(nodes: Nodes, leader: Round, agent: Project) -> None:
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
def test_two_containers_never_count_at_once_in_any_history(
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
