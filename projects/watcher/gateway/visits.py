"""Looks at the gateways of all nodes: what each has counted and seen, and what it has missed.

Whether they answer all are asked side by side, so that many silent ones take hardly more time than one. What touches
the database is done for one after the other, with those that have answered.
"""

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from containers.errors import EngineError, EngineUnavailableError
from containers.gateway.protocol import WITHIN, GatewayClient, Sighting
from containers.gateway.transport import Transport
from projects.watcher.gateway.asking import PLACES_OF_LOOKS, ask_all
from projects.watcher.gateway.entries import read_in_force, reconcile_with
from projects.watcher.gateway.usage import read_usage

WITHIN_OF_NODE = 3.0
"""Seconds for one question to the gateway of one node of several."""

TURNS_WITHIN = 40.0
"""Seconds for what is done for one after the other. Whose turn does not come then waits for the next look."""

_NO_ANSWER = "A gateway does not answer in time."

T = TypeVar("T")


def look_at_all(ways: Mapping[str, Transport]) -> tuple[dict[str, Sighting], set[str]]:
    """What they have seen, and the nodes whose gateways do not answer. Raises `EngineError` where none does."""
    look = _Look(ways)
    held = look.ask(lambda client, _: client.versions())
    look.take_turns(held, lambda client, node: read_usage(client, node=node))
    rows = read_in_force() if held else {}  # after it, since they tell what was spent
    told = look.take_turns(held, lambda client, node: reconcile_with(client, held[node], rows, node=node))
    equal = {node for node, count in told.items() if count == 0}
    seen: dict[str, Sighting] = {}
    for sightings in look.ask(lambda client, node: client.sightings(missed_nothing=node in equal)).values():
        for project, sighting in sightings.items():
            seen[project] = max(seen.get(project, sighting), sighting, key=_seen_at)
    if look.failures and len(look.failures) == len(ways):
        raise next(iter(look.failures.values()))
    return seen, set(look.failures)


class _Look:
    """What went wrong, by nodes."""

    def __init__(self, ways: Mapping[str, Transport]) -> None:
        self._ways = ways
        self.failures: dict[str, EngineError] = {}

    def ask(self, question: Callable[[GatewayClient, str], T]) -> dict[str, T]:
        """The answers of those that have answered all that they were asked."""

        def ask(node: str, way: Transport) -> T | EngineError:
            try:
                return question(_client(node, way), node)
            except EngineError as error:
                return error

        wanted = {node: way for node, way in self._ways.items() if node not in self.failures}
        told = ask_all(ask, wanted, within=WITHIN, places=PLACES_OF_LOOKS)
        answers = {}
        for node in wanted:
            answer = told.get(node, EngineUnavailableError(_NO_ANSWER))
            if isinstance(answer, EngineError):
                self.failures[node] = answer
            else:
                answers[node] = answer
        return answers

    def take_turns(self, held: Mapping[str, object], act: Callable[[GatewayClient, str], T]) -> dict[str, T]:
        """With each that has answered. Another one begins each time, so that slow ones keep nobody waiting for good.
        Returns what came of it with those whose turn came and that went on answering.
        """
        done: dict[str, T] = {}
        nodes = list(held)
        first = int(time.monotonic()) % max(1, len(nodes))
        until = time.monotonic() + TURNS_WITHIN
        for node in nodes[first:] + nodes[:first]:
            if time.monotonic() >= until:
                break
            try:
                done[node] = act(_client(node, self._ways[node]), node)
            except EngineError as error:
                self.failures[node] = error
        return done


def _client(node: str, way: Transport) -> GatewayClient:
    return GatewayClient(way, within=WITHIN_OF_NODE if node else WITHIN)


def _seen_at(sighting: Sighting) -> float:
    """Of an agent that has moved the gateway counts that has heard of it last."""
    return max(sighting.last_poll or 0.0, sighting.telegram_at or 0.0, sighting.provider_at or 0.0)
