"""A circuit breaker: after some failures in a row, calls to a silent engine fail at once for a while."""

import threading
import time
from collections.abc import Callable

from containers.errors import EngineUnavailableError

FAILURES = 3
PAUSE = 10.0
"""Seconds without a call after `FAILURES` failures in a row; then one caller may try."""

PAUSE_AFTER_NOTHING = 1.0
"""Seconds until the next try after one that told nothing."""


class Breaker:
    """Closed while the engine answers. Open, it lets one caller through every `PAUSE` seconds, until one succeeds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._next_try_at = 0.0
        self._trying: int | None = None  # the thread

    @property
    def is_open(self) -> bool:
        return self._failures >= FAILURES

    def admit(self) -> None:
        """Returns where the caller may call the engine. Raises `EngineUnavailableError` where it may not."""
        if not self.is_open:
            return
        with self._lock:
            now = self._clock()
            if self._failures >= FAILURES and now < self._next_try_at:
                raise EngineUnavailableError("The container engine did not answer lately. It is asked again shortly.")
            # This caller tries. Others fail for another pause, and no longer, even if this one never reports back.
            self._next_try_at = now + PAUSE
            self._trying = threading.get_ident()

    def note_answer(self) -> None:
        """The engine answered, even if with an error."""
        if self._failures:
            with self._lock:
                self._failures = 0

    def note_nothing(self) -> None:
        """This call does not tell whether the engine answers. If it was the trial call, the next call is the trial."""
        with self._lock:
            if self.is_open and self._trying == threading.get_ident():
                self._next_try_at = min(self._next_try_at, self._clock() + PAUSE_AFTER_NOTHING)

    def note_silence(self) -> None:
        """The engine did not answer, or gave an answer that could not be read."""
        with self._lock:
            self._failures += 1
            self._trying = None
            if self.is_open:
                self._next_try_at = self._clock() + PAUSE
