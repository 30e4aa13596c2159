"""Says a word to the gateway, or to those of all nodes. Touches no database."""

import os
import threading
from dataclasses import replace
from functools import partial

from django.views.decorators.debug import sensitive_variables

from containers.errors import EngineError
from containers.gateway.protocol import GatewayClient
from containers.gateway.transport import NOT_THERE, Transport
from containers.get_engine import get_engine
from containers.side_work import do_side_by_side
from projects.services.gateway.entry import Word

LATER = "It holds a later version than the database."

AT_ONCE = 16
"""Gateways to which one process speaks at a time, beside those to which each caller does itself."""

OTHERS_WITHIN = 2.0
"""Seconds for each of those that count for nothing now: one that nobody can reach delays no command for longer."""

_places: dict[int, threading.BoundedSemaphore] = {}


@sensitive_variables()
def say(word: Word, *, within: float) -> str:
    """Returns what went wrong, in a sentence, or nothing.

    Of several gateways that one counts which may have a lease for the project. The others know its entry, so that they
    ask an agent that comes to their node to wait; what one of them has missed, the watcher tells it.
    """
    try:
        with get_engine().deadline(within):
            ways = get_engine().gateways()
    except EngineError as error:
        return str(error)
    if list(ways) == [""]:
        return _say_to(ways[""], word, within=within)
    places = _places.setdefault(os.getpid(), threading.BoundedSemaphore(AT_ONCE))
    try:
        act = partial(_say_on, word, within)
        told = do_side_by_side(act, list(ways.items()), places=places, most=AT_ONCE - 1, within=within)
    except TimeoutError:
        return NOT_THERE
    return _judge(word, dict(zip(ways, told, strict=True)))


def _judge(word: Word, told: dict[str, str]) -> str:
    """By what went wrong on each node."""
    if word.node in told:
        return told[word.node]
    if word.node and word.entry is None:
        return NOT_THERE  # where it may still count
    return "" if "" in told.values() else next(iter(told.values()), NOT_THERE)


@sensitive_variables()
def _say_on(word: Word, within: float, to: tuple[str, Transport]) -> str:
    node, way = to
    if word.leaves and node == word.node:
        word = replace(word, entry=None)
    return _say_to(way, word, within=within if node == word.node else min(within, OTHERS_WITHIN))


@sensitive_variables()
def _say_to(way: Transport, word: Word, *, within: float) -> str:
    entries, void = ([word.entry], []) if word.entry else ([], [word.project])
    try:
        with get_engine().deadline(within):
            held = GatewayClient(way, within=within).apply(version=word.version, entries=entries, void=void)
    except EngineError as error:
        return str(error)
    return "" if held.get(word.project) == word.version else LATER
