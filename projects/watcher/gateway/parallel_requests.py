"""Asks the gateways of several nodes at once. Does not use the database."""

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from containers.errors import EngineError
from containers.gateway.transport import Transport
from containers.processes.side_work import do_side_by_side

AT_ONCE = 16
"""How many gateways one process asks at a time, in addition to the one that the caller asks itself."""

T = TypeVar("T")

PLACES_OF_LEASES = threading.BoundedSemaphore(AT_ONCE)  # the watcher never forks
PLACES_OF_LOOKS = threading.BoundedSemaphore(AT_ONCE)
"""Separate from those of leases, so that leases are renewed in time while other questions wait for silent gateways."""


def ask_all(
    ask: Callable[[str, Transport], T], ways: Mapping[str, Transport], *, within: float,
    places: threading.BoundedSemaphore = PLACES_OF_LEASES,
) -> dict[str, T]:  # fmt: skip
    """Returns the answers by node, without nodes that did not answer. `within` is the time limit of each question."""
    act = partial(_ask, ask)
    try:
        answers = do_side_by_side(act, list(ways.items()), places=places, most=AT_ONCE, within=2 * within)
    except TimeoutError:
        return {}
    return {node: answer for node, answer in zip(ways, answers, strict=True) if answer is not None}


def _ask(ask: Callable[[str, Transport], T], to: tuple[str, Transport]) -> T | None:
    try:
        return ask(*to)
    except EngineError:
        return None
