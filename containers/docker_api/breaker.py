"""Spares a silent engine, and those who wait for it: after some failures in a row, fail at once for a while."""

import threading
import time
from collections.abc import Callable

from containers.engine import EngineUnavailableError

FAILURES = 3
PAUSE = 10.0
"""Seconds for which nothing is asked after that many failures in a row; then one caller may try."""


class Breaker:
    """Closed while the engine answers. Open, it lets one caller through every `PAUSE` seconds, until one succeeds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._closed_again_at = 0.0

    @property
    def is_open(self) -> bool:
        return self._failures >= FAILURES

    def admit(self) -> None:
        """Raises `EngineUnavailableError` while nothing should be asked."""
        if not self.is_open:
            return
        with self._lock:
            now = self._clock()
            if self._failures >= FAILURES and now < self._closed_again_at:
                raise EngineUnavailableError("The container engine did not answer lately. It is asked again shortly.")
            # The caller is the probe. Others keep waiting, and a probe that never reports blocks nobody for longer.
            self._closed_again_at = now + PAUSE

    def note_answer(self) -> None:
        """The engine answered, whatever it said."""
        if self._failures:
            with self._lock:
                self._failures = 0

    def note_silence(self) -> None:
        """The engine did not answer, or nothing that could be read."""
        with self._lock:
            self._failures += 1
            if self.is_open:
                self._closed_again_at = self._clock() + PAUSE
