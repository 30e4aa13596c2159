"""Whether this process stood still: it was stopped, its machine swapped, or `docker pause` held its container.

What it waited for may have arrived meanwhile, so a time-out during that time says nothing about the other side.
"""

import time

LONGEST = 2.5
"""Seconds between two ticks of a running process. It ticks each second."""


class PauseDetector:
    """For one process. A process that never ticks never stands still."""

    def __init__(self) -> None:
        self._ticked_at: float | None = None
        self._was_over_at: float | None = None

    def tick(self) -> None:
        """Called by one thread, each second."""
        now = time.monotonic()
        if self._ticked_at is not None and now - self._ticked_at > LONGEST:
            self._was_over_at = now
        self._ticked_at = now

    def paused_since(self, moment: float) -> bool:
        """Returns whether the process stood still after this moment of the monotonic clock. Other threads may run
        before the ticking one.
        """
        if self._was_over_at is not None and self._was_over_at >= moment:
            return True
        now = time.monotonic()
        return self._ticked_at is not None and now - self._ticked_at > LONGEST and moment < now


PAUSE_DETECTOR = PauseDetector()
