"""Nodes that an agent leaves, and hanging gateways: they undo nothing and block nobody."""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from containers.errors import EngineUnavailableError
from containers.gateway.protocol import GatewayClient
from containers.gateway.transport import NOT_THERE
from projects.models import Project
from projects.services.gateway.entry_holders import Holding
from projects.services.gateway.synchronization import notify_gateway
from projects.watcher.gateway.leases import SILENT_AFTER, Round
from projects.watcher.gateway.revocation import make_void
from projects.watcher.gateway.upkeep import look_after_gateway
from tests.projects.gateway.nodes import NodeGateway, Nodes

pytestmark = pytest.mark.django_db
Control = Callable[..., Any]


@pytest.mark.parametrize("teller", ["the watcher", "a command"])
def test_nothing_sent_to_the_former_node_undoes_a_move(
    nodes: Nodes, leader: Round, agent: Project, control: Control, teller: str
) -> None:
    """It was silent for a while and still has a lease; the agent has moved, and all nodes are notified."""
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
        notify_gateway(agent)
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

    def grant(*_: object) -> set[str]:
        heard.append("leases")
        return set()

    monkeypatch.setattr(leader, "_grant", grant)
    leader.run()
    assert heard[:3] == ["ping", "leases", "apply"]


class Hanging:
    def __init__(self) -> None:
        self.asked = 0

    def exchange(self, line: bytes, *, within: float) -> bytes:
        self.asked += 1
        raise EngineUnavailableError(NOT_THERE)

    def prepare(self, *, within: float) -> None:
        """Nothing has to be prepared."""


def test_a_gateway_that_hangs_is_asked_once_and_keeps_no_other_waiting(nodes: Nodes) -> None:
    hanging = Hanging()
    leaving = [Holding(uuid4(), version, node, leaves=True, counts=True) for version in range(5) for node in "ab"]
    void, sick = make_void(leaving, {"a": hanging, "b": nodes.by_name["b"]}, within=2)
    assert (void, sick, hanging.asked) == ({each for each in leaving if each.node == "b"}, {"a"}, 1)


def test_a_gateway_that_is_not_ready_counts_as_silent(nodes: Nodes) -> None:
    nodes.by_name["a"].is_ready = False
    with pytest.raises(EngineUnavailableError, match="not at work"):
        GatewayClient(nodes.by_name["a"]).read_clock()
