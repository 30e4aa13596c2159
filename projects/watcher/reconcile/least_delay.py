"""Estimates how far the engine's clock is from this process's monotonic clock, by the fastest of its events."""

import math
import time

RENEWED_EVERY = 60.0
"""Seconds after which a faster event counts no longer. The engine's clock may have been set back since, or that event
may have been dated in the future, so that all later ones would seem to be late forever."""


class LeastDelay:
    """`least` is the smallest difference between an event's arrival and its time. Not thread-safe.

    In seconds, it is the offset of the clocks and the time that the event needed; infinite before the first event.
    """

    def __init__(self) -> None:
        self.least = self._lately = math.inf
        self._since = -math.inf

    def note(self, at: float, *, is_prompt: bool) -> float:
        """Notes an event of this time on the engine's clock that has just arrived. Returns by how many seconds it seems
        to be later than the fastest.

        `is_prompt`: the engine is not busy. Others are only compared, because they may all be late.
        """
        now = time.monotonic()
        late = now - at - self.least
        self.least = min(self.least, now - at)
        if is_prompt:
            if math.isinf(self._lately):
                self._since = now
            self._lately = min(self._lately, now - at)
            if now - self._since >= RENEWED_EVERY:
                self.least, self._lately = self._lately, math.inf
        return max(late, 0.0)
