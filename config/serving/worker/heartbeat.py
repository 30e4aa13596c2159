"""When a worker of the web server last showed that it lives, for gunicorn's arbiter.

gunicorn stores that moment as the modification time of a file, which a clock step or a full disk can spoil. Here it is
in memory that the arbiter shares with the worker.

The arbiter asks every second. An arbiter that was stopped together with its workers, for example with the whole
machine, must not consider them dead afterwards: time in which it did not ask does not count.
"""

import mmap
import struct
import time
from typing import Any

from gunicorn.workers.workertmp import WorkerTmp

_MOMENT = struct.Struct("d")

_ASKED_EVERY = 5.0
"""Most seconds between two questions of a working arbiter."""


class SharedPulse(WorkerTmp):  # type: ignore[misc]  # gunicorn has no types
    """Created before the fork. Moments are on the monotonic clock."""

    def __init__(self, cfg: Any) -> None:
        super().__init__(cfg)
        self._memory = mmap.mmap(-1, _MOMENT.size)
        self._asked_at = time.monotonic()
        self._lost = 0.0
        self.notify()

    def notify(self) -> None:
        _MOMENT.pack_into(self._memory, 0, time.monotonic())

    def last_update(self) -> float:
        """Called by the arbiter, in its own process."""
        shown, now = float(_MOMENT.unpack_from(self._memory, 0)[0]), time.monotonic()
        if shown >= self._asked_at:
            self._lost = 0.0
        if now - self._asked_at > _ASKED_EVERY:
            self._lost += now - self._asked_at
        self._asked_at = now
        return min(now, shown + self._lost)
