"""Waiting for a condition, which is the only way in which tests wait for something that takes an unknown time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(
    condition: Callable[[], T | None],
    *,
    within: float = 120.0,
    what: str | Callable[[], str] = "It did not happen",
    every: float = 0.02,
) -> T:
    """Asks `condition` every few milliseconds and returns its first true answer.

    `within` is in seconds. It guards against hanging for ever and measures nothing, so it is generous. `what` says what
    was waited for; as a function it is called only when the time is over, for example to read a log.
    """
    deadline = time.monotonic() + within
    while not (answer := condition()):
        if time.monotonic() >= deadline:
            message = what if isinstance(what, str) else what()
            raise AssertionError(f"{message} (not within {within:g} s)")
        time.sleep(every)
    return answer
