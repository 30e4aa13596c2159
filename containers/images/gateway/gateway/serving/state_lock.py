"""A lock on the gateway's state, so that only one of two gateways serves at a time and the other one waits."""

import asyncio
import errno
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

LOOK_EVERY = 0.02


@asynccontextmanager
async def state_lock(state: Path) -> AsyncIterator[None]:
    """Waits until no other process holds the lock. The kernel releases the lock of a process that has ended."""
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = _open(state / "turn")
    try:
        while not _try_to_lock(descriptor):
            await asyncio.sleep(LOOK_EVERY)
        yield
    finally:
        os.close(descriptor)


def _open(file: Path) -> int:
    """A file on a read-only disk can be locked too, if it is there. Raises OSError."""
    try:
        return os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        return os.open(file, os.O_RDONLY)


def _try_to_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
