"""A lock on the gateway's state, so that only one of two gateways serves at a time and the other one waits.

The folder is locked first, then a file in it, which gateways of former versions lock. A full disk may not take it.
"""

import asyncio
import errno
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

LOOK_EVERY = 0.02
_TAKES_NO_FILE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


@asynccontextmanager
async def state_lock(state: Path) -> AsyncIterator[None]:
    """Waits until no other process holds the lock. The kernel releases the lock of a process that has ended.

    Raises OSError.
    """
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = os.open(state, os.O_RDONLY | os.O_DIRECTORY)
    try:
        while not _try_to_lock_folder(folder):
            await asyncio.sleep(LOOK_EVERY)
        file = _open(state / "turn")
        try:
            while file is not None and not _try_to_lock(file):
                await asyncio.sleep(LOOK_EVERY)
            yield
        finally:
            if file is not None:
                os.close(file)
    finally:
        os.close(folder)


def _open(file: Path) -> int | None:
    """A file on a read-only disk can be locked too, if it is there. Returns None if it is not and cannot be created.

    Raises OSError.
    """
    try:
        return os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        if error.errno not in _TAKES_NO_FILE:
            raise
    try:
        return os.open(file, os.O_RDONLY)
    except FileNotFoundError:
        return None


def _try_to_lock_folder(descriptor: int) -> bool:
    """A network's file system may lock files only."""
    try:
        return _try_to_lock(descriptor)
    except OSError:
        return True


def _try_to_lock(descriptor: int) -> bool:
    """Raises OSError."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
