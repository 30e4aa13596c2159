"""Gateways of nodes that only answer pings, and gateways that missed a message."""

import pytest

from projects.models import Project
from projects.services.gateway.entry_moves import WAIT_FOR
from projects.watcher.gateway.leases import SILENT_AFTER, Round
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.projects.gateway.nodes import Nodes

pytestmark = pytest.mark.django_db


def test_an_agent_leaves_a_node_whose_gateway_only_answers_pings(nodes: Nodes, leader: Round, agent: Project) -> None:
    nodes.by_name["a"].hangs = True
    began, versions = nodes.now, set()
    while nodes.now < began + SILENT_AFTER + WAIT_FOR + 4:
        nodes.now += 2
        leader.run()
        agent.refresh_from_db()
        versions.add(agent.entry_version)
    assert agent.leaves_node
    assert len(versions) == 2, "It is not taken back and given up again meanwhile."
    nodes.run_on(agent, "b")
    leader.run()
    assert nodes.letting_pass(agent) == {"b"}, "The time has run since its gateway hung."


def test_a_gateway_that_hung_for_a_while_counts_again(nodes: Nodes, leader: Round, agent: Project) -> None:
    nodes.by_name["a"].hangs = True
    for _ in range(4):
        nodes.now += SILENT_AFTER
        leader.run()
    nodes.by_name["a"].hangs = False
    for _ in range(2):
        nodes.now += 2
        leader.run()
    assert nodes.letting_pass(agent) == {"a"}


def test_only_an_up_to_date_gateway_confirms_that_a_credential_is_void(nodes: Nodes, agent: Project) -> None:
    """What was told in a look has to be found there by the next one."""
    comparison = nodes.by_name["b"].comparison
    for version in (50, 60):
        Project.objects.filter(pk=agent.pk).update(entry_version=version)
        nodes.now += 5
        before = comparison.found_equal_at
        look_after_gateway()
        assert comparison.found_equal_at == before
        look_after_gateway()
        assert comparison.found_equal_at == nodes.now
    nodes.by_name["b"].is_there = False
    nodes.now += 5
    look_after_gateway()
    assert comparison.found_equal_at == nodes.now - 5
