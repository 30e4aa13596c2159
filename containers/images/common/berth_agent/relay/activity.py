"""Tracks whether the child works on an answer: it calls its model or writes to a chat, or did so just now."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

QUIET = 0.5  # seconds between two calls for one answer: from the message to the model, and from the model to the chat
LOOK_EVERY = 0.05


class Activity:
    """All threads of the relay may use one object."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open = 0
        self._last = float("-inf")

    def note(self) -> None:
        """Notes that the child has received work."""
        with self._lock:
            self._last = time.monotonic()

    @contextmanager
    def in_progress(self) -> Iterator[None]:
        with self._lock:
            self._open += 1
        try:
            yield
        finally:
            with self._lock:
                self._open -= 1
                self._last = time.monotonic()

    def wait_until_idle(self, within: float) -> None:
        """Waits until there was no activity for a while, at most for this many seconds."""
        until = time.monotonic() + within
        while self._is_busy() and time.monotonic() < until:
            time.sleep(LOOK_EVERY)

    def _is_busy(self) -> bool:
        with self._lock:
            return self._open > 0 or time.monotonic() - self._last < QUIET
