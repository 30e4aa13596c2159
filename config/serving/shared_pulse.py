"""When a worker of the web server last showed that it lives, as gunicorn's arbiter asks for it.

gunicorn keeps that moment as the modification time of a file, which a clock that steps can bend, and a full disk, too.
Here it is in memory that the arbiter shares with the worker.
"""

import mmap
import struct
import time
from typing import Any

from gunicorn.workers.workertmp import WorkerTmp

_MOMENT = struct.Struct("d")


class SharedPulse(WorkerTmp):  # type: ignore[misc]  # gunicorn has no types
    """Made before the fork. Moments are on the monotonic clock."""

    def __init__(self, cfg: Any) -> None:
        super().__init__(cfg)
        self._memory = mmap.mmap(-1, _MOMENT.size)
        self.notify()

    def notify(self) -> None:
        _MOMENT.pack_into(self._memory, 0, time.monotonic())

    def last_update(self) -> float:
        return float(_MOMENT.unpack_from(self._memory, 0)[0])
