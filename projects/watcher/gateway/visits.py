"""Looks at the gateways of all nodes in turn: what each has counted and seen, and what it has missed."""

from collections.abc import Mapping

from containers.errors import EngineError
from containers.gateway.protocol import WITHIN, GatewayClient, Sighting
from containers.gateway.transport import Transport
from projects.watcher.gateway.entries import reconcile_entries
from projects.watcher.gateway.usage import read_usage

WITHIN_OF_NODE = 3.0
"""Seconds for one question to the gateway of one node of several."""


def look_at_all(ways: Mapping[str, Transport]) -> tuple[dict[str, Sighting], set[str]]:
    """What they have seen, and the nodes whose gateways do not answer. Raises `EngineError` where none does."""
    seen: dict[str, Sighting] = {}
    silent: set[str] = set()
    failure: EngineError | None = None
    for node, way in ways.items():
        try:
            sightings = _look_at(GatewayClient(way, within=WITHIN_OF_NODE if node else WITHIN), node)
        except EngineError as error:
            failure = error
            silent.add(node)
        else:
            for project, sighting in sightings.items():
                seen[project] = max(seen.get(project, sighting), sighting, key=_seen_at)
    if failure is not None and len(silent) == len(ways):
        raise failure
    return seen, silent


def _look_at(client: GatewayClient, node: str) -> dict[str, Sighting]:
    try:
        read_usage(client, node=node)
    finally:
        reconcile_entries(client)  # after it, since it tells what was spent
    return client.sightings()


def _seen_at(sighting: Sighting) -> float:
    """Of an agent that has moved the gateway counts that has heard of it last."""
    return max(sighting.last_poll or 0.0, sighting.telegram_at or 0.0, sighting.provider_at or 0.0)
