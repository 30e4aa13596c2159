"""A circuit breaker: after some failures in a row, calls to an engine that does not answer fail at once for a while."""

import math
import threading
import time
from collections.abc import Callable

from containers.errors import EngineUnavailableError

FAILURES = 3
PAUSE = 10.0
"""Seconds without a call after `FAILURES` failures in a row; then one caller may try."""

SHORT_PAUSE = 1.0
"""Seconds until the next try after a call that was inconclusive or failed at once, and before a try that no one waits
for. Therefore a restarted engine is noticed this soon, no matter how long it was away."""

AT_ONCE = 0.3
"""A call that fails within this many seconds costs no waiting, such as a call to a socket without a listener."""


class CircuitBreaker:
    """Closed while the engine answers. When open, it lets one caller through at a time, with a pause in between, until
    a call succeeds. A call that someone waits for, and that may take time to fail, is tried every `PAUSE` seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._next_try_at = self._next_unwaited_at = 0.0
        self._trying: int | None = None  # the thread

    @property
    def is_open(self) -> bool:
        return self._failures >= FAILURES

    @property
    def is_near_opening(self) -> bool:
        """Whether one more failure opens it, or keeps it open."""
        return self._failures >= FAILURES - 1

    def admit(self, *, is_waited_for: bool = True) -> float:
        """Returns the current time if the caller may call the engine. Otherwise raises `EngineUnavailableError`."""
        if not self.is_open:
            return self._clock()
        with self._lock:
            now = self._clock()
            next_at = self._next_try_at if is_waited_for else min(self._next_try_at, self._next_unwaited_at)
            if self._failures >= FAILURES and now < next_at:
                raise EngineUnavailableError("The container engine did not answer lately. It is asked again shortly.")
            # This caller tries. Others fail for one more pause, and no longer, even if this one never reports back.
            self._next_try_at = self._next_unwaited_at = now + PAUSE
            self._trying = threading.get_ident()
            return now

    def note_answer(self) -> None:
        """Notes that the engine answered, even if with an error."""
        if self._failures:
            with self._lock:
                self._failures = 0

    def note_nothing(self) -> None:
        """Notes an inconclusive call. If it was the trial call, the next call is the trial."""
        with self._lock:
            if self.is_open and self._trying == threading.get_ident():
                self._next_try_at = self._next_unwaited_at = min(self._next_try_at, self._clock() + SHORT_PAUSE)

    def note_silence(self, began: float = -math.inf) -> None:
        """Notes that a call admitted at `began` got no answer, or an unreadable one."""
        with self._lock:
            self._failures += 1
            self._trying = None
            if self.is_open:
                now = self._clock()
                self._next_unwaited_at = now + min(SHORT_PAUSE, PAUSE)
                self._next_try_at = self._next_unwaited_at if now - began < AT_ONCE else now + PAUSE
