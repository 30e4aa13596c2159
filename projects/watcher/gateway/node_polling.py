"""Visits the gateways of all nodes: reads what each has counted and seen, and tells it what it has missed.

They are asked all at once, so that many silent ones take hardly longer than one. Work with the database is done for one
gateway after the other, with those that answered.
"""

import time
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, TypeVar

from accounts import clock
from accounts.moments import CLOCKS_DIFFER
from containers.errors import EngineError, EngineUnavailableError
from containers.gateway.protocol import WITHIN, GatewayClient
from containers.gateway.sightings import Sighting
from containers.gateway.transport import Transport
from projects.watcher.gateway.entries import find_in_force, read_in_force, reconcile_entries
from projects.watcher.gateway.parallel_requests import PLACES_OF_LOOKS, ask_all
from projects.watcher.gateway.usage import read_usage

WITHIN_OF_NODE = 3.0
"""Seconds for one question to the gateway of a node."""

TURNS_WITHIN = 40.0
"""Seconds for the work that is done for one gateway after the other. The rest waits for the next visit."""

_NO_ANSWER = "A gateway does not answer in time."

T = TypeVar("T")


class Seen(NamedTuple):
    """What all gateways have seen, the nodes whose gateways do not answer, and the projects whose entry one refuses.

    `began` is when the youngest of these gateways was started, in seconds since 1970, if they say so. `troubles` is
    what those that answer do not do, by node.
    """

    sightings: dict[str, Sighting]
    silent: set[str]
    refused: set[str]
    began: float | None
    troubles: dict[str, str]


def look_at_all(ways: Mapping[str, Transport]) -> Seen:
    """Returns what the gateways answer. Raises `EngineError` if none answers."""
    look = _Look(ways)
    named = find_in_force()
    held = look.ask(lambda client, _: client.versions(named))
    look.take_turns(held, lambda client, node: read_usage(client, node=node))
    rows = read_in_force() if held else {}  # after reading usage, because entries contain what was spent
    results = look.take_turns(held, lambda client, node: reconcile_entries(client, held[node], rows, node=node))
    equal = {node for node, result in results.items() if result.sent == 0}
    refused = {project for result in results.values() for project in result.refused}
    looks = look.ask(lambda client, node: (client.look(missed_nothing=node in equal), time.monotonic()), among=held)
    seen, began = dict[str, Sighting](), list[float]()
    for found, at in looks.values():
        ahead = _find_ahead(found.now, at)
        began += [found.began - ahead] if found.began is not None else []
        for project, each in found.sightings.items():
            sighting = each.earlier(ahead) if ahead else each
            seen[project] = max(seen.get(project, sighting), sighting, key=_seen_at)
    if look.failures and not looks:
        raise next(iter(look.failures.values()))
    troubles = {node: str(error) for node, error in look.failures.items() if node in looks}
    troubles |= {node: found.trouble for node, (found, _) in looks.items() if found.trouble}
    return Seen(seen, look.failures.keys() - looks.keys(), refused, max(began, default=None), troubles)


class _Look:
    """A visit to all gateways. `failures` has the errors by node."""

    def __init__(self, ways: Mapping[str, Transport]) -> None:
        self._ways = ways
        self.failures: dict[str, EngineError] = {}

    def ask(self, question: Callable[[GatewayClient, str], T], *, among: Collection[str] | None = None) -> dict[str, T]:
        """Returns the answers by node, and records failures. With `among`, also asks such nodes that failed before: a
        gateway that cannot use its disk still tells what it sees.
        """

        def ask(node: str, way: Transport) -> T | EngineError:
            try:
                return question(_client(node, way), node)
            except EngineError as error:
                return error

        wanted = {node: way for node, way in self._ways.items() if among is None or node in among}
        results = ask_all(ask, wanted, within=WITHIN, places=PLACES_OF_LOOKS)
        answers = {}
        for node in wanted:
            answer = results.get(node, EngineUnavailableError(_NO_ANSWER))
            if isinstance(answer, EngineError):
                self.failures[node] = answer
            else:
                answers[node] = answer
        return answers

    def take_turns(self, held: Mapping[str, object], act: Callable[[GatewayClient, str], T]) -> dict[str, T]:
        """Acts on each gateway in `held`, starting with another one each time, so that slow ones do not block others.

        Returns the results of those whose turn came and that answered.
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


def _find_ahead(gateways_now: float | None, at: float) -> int:
    """Returns how many seconds the gateway's clock is ahead of ours. `at` is the monotonic time at which it was read.

    In whole seconds, and 0 if clocks may differ so much, so that sightings stay the same from one look to the next.
    """
    ours = clock.now().timestamp() - (time.monotonic() - at)
    ahead = 0.0 if gateways_now is None else gateways_now - ours
    return round(ahead) if abs(ahead) > CLOCKS_DIFFER.total_seconds() else 0


def _seen_at(sighting: Sighting) -> float:
    """Returns when the agent was last seen. For a moved agent, the latest sighting counts."""
    return max(sighting.last_poll or 0.0, sighting.telegram_at or 0.0, sighting.provider_at or 0.0)
