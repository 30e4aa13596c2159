"""The watcher's sign of life: the moment by which each piece of its work will be over.

`serve` reads it and starts a watcher anew of whose work a piece is overdue: it hangs, or somebody has stopped it.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)

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

LISTENING = 75.0
"""Seconds for connecting to the engine's events and waiting for the next, which the connection ends after 30."""

SENDING = 120.0
"""Seconds for one mail, which has its own deadline, and for what the database keeps of it."""

Publish = Callable[[float], object]


def _nobody(_due: float) -> None:
    """Where nobody looks after the watcher."""


class Beat:
    """The sign of life of a thread that goes on and on, as long as the process does."""

    def __init__(self, name: str, note: Callable[["Beat", float | None], None]) -> None:
        self.name = name
        self._note = note
        self._has_ended = False

    def expect(self, seconds: float) -> None:
        """Says that the thread will come by again within so many seconds."""
        if not self._has_ended:
            self._note(self, time.monotonic() + seconds)

    def end(self) -> None:
        """The thread is not waited for any more, and what it says from now on counts for nothing."""
        self._has_ended = True
        self._note(self, None)


class Pulse(Beat):
    """The watcher's loop, and its other threads. Safe between threads.

    Moments are on the monotonic clock, which all processes of a machine share.
    """

    def __init__(self, publish: Publish = _nobody) -> None:
        self._publish = publish
        self._due: dict[Beat, float] = {}
        self._lock, self._hung = threading.Lock(), False
        super().__init__("rounds", self._write)

    def thread(self, name: str) -> Beat:
        return Beat(name, self._write)

    @contextmanager
    def work(self, *, within: float, name: str = "work") -> Iterator[None]:
        """Wraps a piece of work in a thread of its own, which takes at most so many seconds."""
        piece = self.thread(name)
        piece.expect(within)
        try:
            yield
        finally:
            piece.end()

    def overdue(self) -> list[str]:
        """The names of what hangs. Where `serve` looks after the watcher, it starts another one soon."""
        now = time.monotonic()
        with self._lock:
            return sorted({piece.name for piece, due in self._due.items() if due < now})

    def has_hung(self) -> bool:
        """Whether another thread hangs. Then no heartbeat is written, which the staff and `/readyz` see."""
        names = self.overdue()
        if names and not self._hung:
            log.error("Of the watcher's threads these hang: %s. It does not beat until they go on.", ", ".join(names))
        self._hung = bool(names)
        return self._hung

    def _write(self, piece: Beat, due: float | None) -> None:
        with self._lock:
            if due is None:
                self._due.pop(piece, None)
            else:
                self._due[piece] = due
            self._publish(min(self._due.values(), default=math.inf))
