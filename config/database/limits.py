"""Limits how long a thread waits for the database.

Each wait is limited. The waits of a request are also limited together, and end with the request's own time. Once the
database has failed a request, the cleanup gets little more.
"""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from containers.processes.deadlines import Deadline

LOCK = 8.0
"""Seconds for which PostgreSQL lets a statement wait for a lock."""

MIGRATION_LOCK = 2.0
"""The same for a migration. Everyone else waits behind it meanwhile, and has time left when it gives way."""

STATEMENT = 10.0
"""Maximum seconds that PostgreSQL spends on a statement, including waits for locks."""

ANSWER = 12.0
"""Maximum seconds until the server answers. It exceeds the server's own limits, so it only applies if the server
hangs."""

REQUEST = 12.0
"""Maximum seconds of all waits of a request together, which leaves most of its time to the engine."""

AFTER_FAULT = 3.0
"""Seconds that a request may still wait after the database has failed it."""


class _Limits(Deadline):
    """The limits of this thread. Without `until` and `left` it serves no request."""

    left: float | None = None
    has_failed = False
    are_lifted = False


_limits = _Limits()


@contextmanager
def request_limits(seconds: float) -> Iterator[None]:
    """Sets the limits of a request that has this many seconds left."""
    _limits.until, _limits.left, _limits.has_failed = time.monotonic() + seconds, REQUEST, False
    try:
        yield
    finally:
        _limits.until = _limits.left = None
        _limits.has_failed = False


def time_limit(seconds: float) -> AbstractContextManager[None]:
    """Limits all waits inside to `seconds` together. Of nested limits, the one that ends first applies."""
    return _limits.within(seconds)


@contextmanager
def without_limits() -> Iterator[None]:
    """Lifts the limits for migrations, which may take as long as they need."""
    _limits.are_lifted = True
    try:
        yield
    finally:
        _limits.are_lifted = False


def seconds_left() -> float | None:
    """Returns how many seconds the next wait may take: zero if the time is over, None if nothing limits it."""
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
    """Counts the time inside as waiting time of the request."""
    began = time.monotonic()
    try:
        yield
    finally:
        if _limits.left is not None:
            _limits.left -= time.monotonic() - began


def note_fault() -> None:
    """Notes that the database has failed this thread's request."""
    if _limits.left is not None:
        _limits.has_failed = True
        _limits.left = min(_limits.left, AFTER_FAULT)


def has_failed() -> bool:
    """Returns whether the database has already failed this thread's request."""
    return _limits.has_failed
