"""Permits that the processes of a web server share: taken from the shared count in batches, granted by any of them.

The memory is created before the processes are forked, and freed with the last of them. Locks of the kernel guard it,
which a killed process does not keep. If a process is stopped while it holds one, the others do without these permits.
"""

import fcntl
import hashlib
import mmap
import os
import struct
from contextlib import suppress
from threading import Lock
from typing import NamedTuple

_PLACE = struct.Struct("<16sqii")
PLACES = 4096
"""Of two users who happen to have the same place, the later one in a minute gets permits one by one."""

TRIES = 5000
"""How often to try for a lock, which is held for some microseconds."""


class Stock(NamedTuple):
    """The permits of a subject in a window: `available` here, and `remaining` in the shared count when last asked."""

    available: int
    remaining: int


class SharedPermits:
    def __init__(self) -> None:
        self._file = os.memfd_create("berth-permits")
        os.ftruncate(self._file, _PLACE.size * PLACES)
        self._memory = mmap.mmap(self._file, _PLACE.size * PLACES)
        self._threads = Lock()

    def open(self, subject: str, window: int, *, limit: int) -> Stock | None:
        """Returns the permits of the subject, and makes a place for them. Returns None if there is none."""
        return self._change(subject, window, more=0, remaining=limit, makes_place=True)

    def take(self, subject: str, window: int) -> Stock | None:
        """Takes a permit. Returns what is left, or None if there was none here."""
        return self._change(subject, window, more=-1)

    def add(self, subject: str, window: int, *, more: int, remaining: int) -> Stock | None:
        """Adds permits. Returns what is there now, or None if there is no place for them."""
        return self._change(subject, window, more=more, remaining=remaining)

    def _change(
        self, subject: str, window: int, *, more: int, remaining: int | None = None, makes_place: bool = False
    ) -> Stock | None:
        """Changes nothing and returns None if there would be fewer than no permits. The lowest `remaining` is the
        newest."""
        key, number = _find_place(subject)
        with self._threads:
            if not self._lock(number):
                return None
            try:
                owner, of, available, left = _PLACE.unpack_from(self._memory, number * _PLACE.size)
                if (owner, of) != (key, window):
                    if not makes_place or of in {window, window + 1}:  # the next minute has begun for another process
                        return None
                    available, left = 0, remaining or 0
                if available + more < 0:
                    return None
                stock = Stock(available + more, left if remaining is None else min(left, remaining))
                _PLACE.pack_into(self._memory, number * _PLACE.size, key, window, *stock)
                return stock
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, number)

    def _lock(self, number: int) -> bool:
        for _ in range(TRIES):
            with suppress(BlockingIOError):
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
                return True
            os.sched_yield()  # to its holder, on a busy machine
        return False


def _find_place(subject: str) -> tuple[bytes, int]:
    """Returns the key of the subject, and the number of its place."""
    key = hashlib.blake2b(subject.encode(), digest_size=16).digest()
    return key, int.from_bytes(key[:4], "little") % PLACES
