"""How long a thread waits for the database.

Each wait is limited. The waits of a request are also limited together, and end with the request's own time. Once the
database has failed a request, what is left to clean up gets little more.
"""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from containers.deadlines import Deadline

LOCK = 8.0
"""Seconds for which PostgreSQL lets a statement wait for a lock."""

MIGRATION_LOCK = 2.0
"""The same for a migration. All others wait behind it meanwhile, and have time left when it gives way."""

STATEMENT = 10.0
"""Seconds that PostgreSQL spends on a statement, with its waiting for locks."""

ANSWER = 12.0
"""Seconds until an answer of the server is there. More than it may take, so that this is for a server that hangs."""

REQUEST = 12.0
"""Seconds that all waits of a request take together, which leaves most of its time to the engine."""

AFTER_FAULT = 3.0
"""Seconds that a request may still wait after the database has failed it."""


class _Limits(Deadline):
    """Those of this thread. Without `until` and `left` it serves no request."""

    left: float | None = None
    has_failed = False
    are_lifted = False


_limits = _Limits()


@contextmanager
def request_limits(seconds: float) -> Iterator[None]:
    """For a request that has so many seconds left."""
    _limits.until, _limits.left, _limits.has_failed = time.monotonic() + seconds, REQUEST, False
    try:
        yield
    finally:
        _limits.until = _limits.left = None
        _limits.has_failed = False


def time_limit(seconds: float) -> AbstractContextManager[None]:
    """Limits all waits inside to `seconds` together. Of nested limits the one that ends first holds."""
    return _limits.within(seconds)


@contextmanager
def without_limits() -> Iterator[None]:
    """For migrations, which may take as long as they need."""
    _limits.are_lifted = True
    try:
        yield
    finally:
        _limits.are_lifted = False


def seconds_left() -> float | None:
    """What the next wait may take; zero where the time is over, None where nothing limits it."""
    if _limits.are_lifted:
        return None
    seconds = ANSWER
    if _limits.left is not None:
        seconds = min(seconds, _limits.left)
    if _limits.until is not None:
        seconds = min(seconds, _limits.until - time.monotonic())
    return max(0.0, seconds)


@contextmanager
def waiting() -> Iterator[None]:
    """Counts the time inside as time of the request that was spent on waiting."""
    began = time.monotonic()
    try:
        yield
    finally:
        if _limits.left is not None:
            _limits.left -= time.monotonic() - began


def note_fault() -> None:
    """The database has failed this thread's request."""
    if _limits.left is not None:
        _limits.has_failed = True
        _limits.left = min(_limits.left, AFTER_FAULT)


def has_failed() -> bool:
    """Whether the database has failed this thread's request before."""
    return _limits.has_failed
