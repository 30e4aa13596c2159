"""Shows the supervisor that the gateway's event loop goes on, by a number in memory that both processes share."""

import asyncio
import mmap

EVERY = 1.0
"""Seconds between two beats."""


class Heartbeat:
    """Create it before the fork. The child beats, and the parent reads."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, mmap.PAGESIZE)

    @property
    def count(self) -> int:
        return self._shared[0]

    def beat(self) -> None:
        self._shared[0] = (self._shared[0] + 1) % 256

    async def keep_beating(self) -> None:
        while True:
            self.beat()
            await asyncio.sleep(EVERY)


class Looks:
    """The parent's looks at the heartbeat of one child."""

    def __init__(self, heartbeat: Heartbeat) -> None:
        self._heartbeat, self._last = heartbeat, heartbeat.count
        self._has_begun, self._unbeaten = False, 0

    def count_unbeaten(self) -> int:
        """Returns how many looks in a row found no new beat; 0 before the first beat."""
        count = self._heartbeat.count
        is_new, self._last = count != self._last, count
        self._has_begun |= is_new
        self._unbeaten = self._unbeaten + 1 if self._has_begun and not is_new else 0
        return self._unbeaten
