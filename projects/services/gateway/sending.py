"""Sends a message to the gateway, or to the gateways of all nodes. Does not use the database."""

import os
import threading
from dataclasses import replace
from functools import partial

from django.views.decorators.debug import sensitive_variables

from containers.errors import EngineError, EngineRefusedError
from containers.gateway.protocol import GatewayClient
from containers.gateway.transport import NOT_THERE, Transport
from containers.get_engine import get_engine
from containers.processes.side_work import do_side_by_side
from projects.services.gateway.entry import GatewayMessage

LATER = "It holds a later version than the database."
REFUSED = "The gateway refuses it:"
"""The beginning of the result if the gateway does not take the entry, which telling it again does not change."""

AT_ONCE = 16
"""How many gateways one process contacts at a time, not counting those that each caller contacts itself."""

OTHERS_WITHIN = 2.0
"""Seconds for each gateway that does not hold the project, so that an unreachable one does not delay commands."""

_places: dict[int, threading.BoundedSemaphore] = {}


@sensitive_variables()
def send_message(message: GatewayMessage, *, within: float) -> str:
    """Sends the message. Returns what went wrong in a sentence, or an empty text.

    Of several gateways only the one that may have a lease for the project counts. The others get the entry too, so that
    they ask an agent that moves to their node to wait; the watcher tells a gateway what it missed.
    """
    try:
        with get_engine().deadline(within):
            ways = get_engine().gateways()
    except EngineError as error:
        return str(error)
    if list(ways) == [""]:
        return _send_to(ways[""], message, within=within)
    places = _places.setdefault(os.getpid(), threading.BoundedSemaphore(AT_ONCE))
    try:
        act = partial(_send_to_node, message, within)
        results = do_side_by_side(act, list(ways.items()), places=places, most=AT_ONCE - 1, within=within)
    except TimeoutError:
        return NOT_THERE
    return _judge(message, dict(zip(ways, results, strict=True)))


def _judge(message: GatewayMessage, results: dict[str, str]) -> str:
    """Returns the overall result from the result of each node."""
    if message.node in results:
        return results[message.node]
    if message.node and message.entry is None:
        return NOT_THERE  # where the project may still be valid
    return "" if "" in results.values() else next(iter(results.values()), NOT_THERE)


@sensitive_variables()
def _send_to_node(message: GatewayMessage, within: float, to: tuple[str, Transport]) -> str:
    node, way = to
    if message.leaves and node == message.node:
        message = replace(message, entry=None)
    return _send_to(way, message, within=within if node == message.node else min(within, OTHERS_WITHIN))


@sensitive_variables()
def _send_to(way: Transport, message: GatewayMessage, *, within: float) -> str:
    entries, void = ([message.entry], []) if message.entry else ([], [message.project])
    try:
        with get_engine().deadline(within):
            held = GatewayClient(way, within=within).apply(version=message.version, entries=entries, void=void)
    except EngineRefusedError as error:
        return f"{REFUSED} {error}"
    except EngineError as error:
        return str(error)
    return "" if held.get(message.project) == message.version else LATER
