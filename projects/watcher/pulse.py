"""The watcher's sign of life: the moment by which each piece of its work will be over.

`serve` reads it and starts a watcher anew of whose work a piece is overdue: it hangs, or somebody has stopped it.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

IDLE = 10.0
"""Seconds that waiting for the next event may take. It ends by itself after two."""

STEP = 35.0
"""Seconds for what is done with one project, and for all that a round does besides: some calls to the engine, each of
which has its limit, and statements, which the database ends after 30 seconds."""

FIREWALL = 60.0
"""Seconds for setting the rules, some of them by a container."""

REPAIR = 120.0
"""Seconds for a repair, which has 72 for its calls to the engine."""

CONFIRMATION = 60.0
"""Seconds for a pass through the claims to bots, which begins none after 15."""

Publish = Callable[[float], object]


def _nobody(_due: float) -> None:
    """Where nobody looks after the watcher."""


class Pulse:
    """Safe between threads. Moments are on the monotonic clock, which all processes of a machine share."""

    def __init__(self, publish: Publish = _nobody) -> None:
        self._publish = publish
        self._due: dict[object, float] = {}
        self._lock = threading.Lock()

    def expect(self, seconds: float) -> None:
        """Says that the loop will come by again within so many seconds."""
        self._note(self, time.monotonic() + seconds)

    def end(self) -> None:
        """The loop does not come by any more."""
        self._note(self, None)

    @contextmanager
    def work(self, *, within: float) -> Iterator[None]:
        """Wraps a piece of work in a thread of its own, which takes at most so many seconds."""
        piece = object()
        self._note(piece, time.monotonic() + within)
        try:
            yield
        finally:
            self._note(piece, None)

    def _note(self, piece: object, due: float | None) -> None:
        with self._lock:
            if due is None:
                self._due.pop(piece, None)
            else:
                self._due[piece] = due
            self._publish(min(self._due.values(), default=math.inf))
