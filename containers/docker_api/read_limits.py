"""Marks threads that read for a caller who prefers the answer "unknown" to waiting, and passes limits to helpers."""

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

from containers.errors import EngineUnavailableError
from containers.outbound.call_limits import seconds_left, time_limit
from containers.processes.side_work import LONGEST, SideWork

R = TypeVar("R")

MARGIN = 1.0
"""Extra seconds in which a thread whose time is over can report that itself."""


class _Reading(threading.local):
    is_reading = False


this_thread = _Reading()


def with_current_limits(act: Callable[[Any], R]) -> Callable[[Any], R]:
    """Wraps `act` for other threads, which get the rest of this thread's time limit, and are reading if it is."""
    left, began, is_reading = seconds_left(), time.monotonic(), this_thread.is_reading

    def within_limits(given: Any) -> R:
        this_thread.is_reading = is_reading
        with nullcontext() if left is None else time_limit(began + left - time.monotonic()):
            return act(given)

    return within_limits


def longest_wait() -> float:
    """Returns the seconds for which this thread may wait for another one that has its limits."""
    left = seconds_left()
    return LONGEST if left is None else max(0.0, left) + MARGIN


def start_in_thread(act: Callable[[], R]) -> Callable[[], R]:
    """Starts `act` in a new thread with this thread's limits, and returns a function that waits for the result.

    That function raises `EngineUnavailableError` if there is no result in time.
    """
    within_limits = with_current_limits(lambda _: act())
    work = SideWork(lambda: within_limits(None))
    work.begin()

    def finish() -> R:
        try:
            return work.result(longest_wait())
        except TimeoutError as error:
            raise EngineUnavailableError("The engine did not answer in time.") from error

    return finish
