"""Whether this process stood still: it was stopped, its machine swaps, or `docker pause` holds its container.

What it waited for may have come meanwhile, so that a wait that was over then says nothing of who was waited for.
"""

import time

LONGEST = 2.5
"""Seconds between two ticks of a process that goes on. It ticks each second."""


class Stillness:
    """Of one process. One that never ticks never stands still."""

    def __init__(self) -> None:
        self._ticked_at: float | None = None
        self._was_over_at: float | None = None

    def tick(self) -> None:
        """By one thread, each second."""
        now = time.monotonic()
        if self._ticked_at is not None and now - self._ticked_at > LONGEST:
            self._was_over_at = now
        self._ticked_at = now

    def was_since(self, moment: float) -> bool:
        """Whether it did at any time after this one, of the monotonic clock. Other threads may go on before the one
        that ticks.
        """
        if self._was_over_at is not None and self._was_over_at >= moment:
            return True
        now = time.monotonic()
        return self._ticked_at is not None and now - self._ticked_at > LONGEST and moment < now


STILLNESS = Stillness()
