"""The watcher's sign of life: the moment by which each piece of its work will be done.

`serve` reads it and restarts a watcher with overdue work, because it hangs or was paused.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)

IDLE = 10.0
"""Seconds for waiting for the next event, which normally ends after two."""

STEP = 35.0
"""Seconds for the work on one project, and for all other work of a round: some calls to the engine, each with its own
limit, and statements, which the database ends after 30 seconds."""

FIREWALL = 60.0
"""Seconds for setting the firewall rules, some of them by a container."""

REPAIR = 120.0
"""Seconds for a repair, of which 72 are for its calls to the engine."""

CONFIRMATION = 60.0
"""Seconds for a pass through the claims to bots, which begins no other claim after 15."""

LISTENING = 75.0
"""Seconds for connecting to the engine's events and waiting for the next one. The connection ends after 30."""

SENDING = 120.0
"""Seconds for one mail, which has its own deadline, and for recording it."""

Publish = Callable[[float], object]


def _nobody(_due: float) -> None:
    """Publishes nothing, if no process looks after the watcher."""


class Beat:
    """The sign of life of a thread that runs as long as the process."""

    def __init__(self, name: str, note: Callable[["Beat", float | None], None]) -> None:
        self.name = name
        self._note = note
        self._has_ended = False

    def expect(self, seconds: float) -> None:
        """Promises the thread's next sign of life within this many seconds."""
        if not self._has_ended:
            self._note(self, time.monotonic() + seconds)

    def end(self) -> None:
        """Ends the sign of life: later promises of the thread are ignored."""
        self._has_ended = True
        self._note(self, None)


class Pulse(Beat):
    """The signs of life of the watcher's loop and its other threads. Thread-safe.

    Times are on the monotonic clock, which all processes of a machine share.
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
        """Wraps a piece of work in another thread, which takes at most this many seconds."""
        piece = self.thread(name)
        piece.expect(within)
        try:
            yield
        finally:
            piece.end()

    def overdue(self) -> list[str]:
        """Returns the names of overdue work. If `serve` looks after the watcher, it soon starts another one."""
        now = time.monotonic()
        with self._lock:
            return sorted({piece.name for piece, due in self._due.items() if due < now})

    def has_hung(self) -> bool:
        """Returns whether another thread hangs. Then there is no heartbeat, which staff and `/readyz` notice."""
        names = self.overdue()
        if names and not self._hung:
            log.error("These threads of the watcher hang: %s. There is no heartbeat meanwhile.", ", ".join(names))
        self._hung = bool(names)
        return self._hung

    def _write(self, piece: Beat, due: float | None) -> None:
        with self._lock:
            if due is None:
                self._due.pop(piece, None)
            else:
                self._due[piece] = due
            self._publish(min(self._due.values(), default=math.inf))
