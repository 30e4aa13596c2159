"""Whether a thread reads for somebody who would rather be told that nothing is known than wait."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from typing import Any, TypeVar

from containers.call_limits import seconds_left, time_limit

R = TypeVar("R")


class _Reading(threading.local):
    is_reading = False


this_thread = _Reading()


def with_my_limits(act: Callable[[Any], R]) -> Callable[[Any], R]:
    """`act` for other threads, which get what is left of this thread's time, and read where this one does."""
    left, began, is_reading = seconds_left(), time.monotonic(), this_thread.is_reading

    def within_limits(given: Any) -> R:
        this_thread.is_reading = is_reading
        with nullcontext() if left is None else time_limit(began + left - time.monotonic()):
            return act(given)

    return within_limits


def beside(act: Callable[[], R]) -> Callable[[], R]:
    """Begins `act` in a thread of its own, with the limits of this one. What it returns waits for the result."""
    future: Future[R] = Future()
    within_limits = with_my_limits(lambda _: act())

    def run() -> None:
        try:
            future.set_result(within_limits(None))
        except BaseException as error:  # noqa: BLE001 - it is the caller's, who asks for the result
            future.set_exception(error)

    threading.Thread(target=run, name="beside", daemon=True).start()
    return future.result
