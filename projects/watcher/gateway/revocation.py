"""Tells the gateways that agents are leaving to make their entries void, all at once. Does not use the database."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import partial

from containers.errors import EngineError, EngineUnavailableError
from containers.gateway.protocol import GatewayClient
from containers.gateway.transport import Transport
from projects.services.gateway.entry_holders import Holding
from projects.watcher.gateway.parallel_requests import ask_all

ByVersion = Mapping[int, list[Holding]]
"""Projects by version."""


def make_void(
    leaving: Iterable[Holding], ways: Mapping[str, Transport], *, within: float
) -> tuple[set[Holding], set[str]]:
    """Returns the projects that their former gateways confirm as void, and the nodes that did not answer in time.

    `within` is the number of seconds for all questions to one gateway.
    """
    leaving_by_node: dict[str, dict[int, list[Holding]]] = defaultdict(lambda: defaultdict(list))
    for each in leaving:
        if each.node in ways:
            leaving_by_node[each.node][each.version].append(each)
    former_ways = {node: ways[node] for node in leaving_by_node}
    answers = ask_all(partial(_make_void, leaving_by_node=leaving_by_node, within=within), former_ways, within=within)
    void = {each for some, _ in answers.values() for each in some}
    return void, {node for node in former_ways if node not in answers or not answers[node][1]}


def _make_void(
    node: str, way: Transport, *, leaving_by_node: Mapping[str, ByVersion], within: float
) -> tuple[set[Holding], bool]:
    """Returns the confirmed projects, and whether the gateway answered every question."""
    until, void = time.monotonic() + within, set[Holding]()
    for version, some in leaving_by_node[node].items():
        left = until - time.monotonic()
        if left <= 0:
            return void, False
        try:
            held = GatewayClient(way, within=left).apply(version=version, void=[each.key for each in some])
        except EngineUnavailableError:
            return void, False
        except EngineError:
            continue  # it refuses this message
        # For this version the gateway keeps the void entry, even if a valid one came first.
        void |= {each for each in some if held.get(each.key) == version}
    return void, True
