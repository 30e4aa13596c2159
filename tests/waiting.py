"""Waiting for a condition, which is the only way in which tests wait for something that takes an unknown time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

RAREST = 0.2
"""Seconds between two looks, unless a test wants more."""


def wait_until(
    condition: Callable[[], T | None],
    *,
    within: float = 120.0,
    what: str | Callable[[], str] = "It did not happen",
    every: float = 0.02,
) -> T:
    """Asks `condition` every few milliseconds, and more rarely the longer it takes. Returns its first true answer.

    `within` is in seconds. It guards against hanging for ever and measures nothing, so it is generous. `what` says what
    was waited for; as a function it is called only when the time is over, for example to read a log.
    """
    began = time.monotonic()
    deadline = began + within
    while not (answer := condition()):
        if time.monotonic() >= deadline:
            message = what if isinstance(what, str) else what()
            raise AssertionError(f"{message} (not within {within:g} s)")
        # Late by a twentieth of the time at most. What is asked is often a server that others wait for as well.
        time.sleep(max(every, min(RAREST, (time.monotonic() - began) / 20)))
    return answer
