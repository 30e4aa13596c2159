"""Writes to a descriptor without waiting for a reader that does not read.

A pipe or socket holds some 64 KB. If its reader hangs, such as the engine or the journal that collects the log, every
thread that writes a line would hang with it.
"""

import os
import select
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_IN_ONE_PIECE = select.PIPE_BUF
"""Bytes that a pipe with room takes in one piece."""

_lock = threading.Lock()


def write_in_time(target: int, line: bytes, *, within: float) -> None:
    """Writes all of the line. Raises `BlockingIOError` if the reader has not made room after this many seconds."""
    found = os.fstat(target)
    if stat.S_ISREG(found.st_mode):
        while line:
            line = line[os.write(target, line) :]
        return
    until = time.monotonic() + within
    with _without_waiting(target, is_pipe=stat.S_ISFIFO(found.st_mode)) as own:
        while line:
            piece = line[:_IN_ONE_PIECE]
            line = line[_write_alone(target, piece, until) if own is None else _try_to_write(own, piece, until) :]


@contextmanager
def _without_waiting(target: int, *, is_pipe: bool) -> Iterator[int | None]:
    """Opens a pipe again, so that writing never waits. The given descriptor is shared with other processes, and must
    stay as it is. It is not kept, because the reader waits until the last one is closed.

    Yields None if this process may not open it.
    """
    own = None
    if is_pipe:
        with suppress(OSError):
            own = os.open(f"/proc/self/fd/{target}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield own
    finally:
        if own is not None:
            os.close(own)


def _try_to_write(descriptor: int, piece: bytes, until: float) -> int:
    while True:
        _wait_for_room(descriptor, until)
        try:
            return os.write(descriptor, piece)
        except BlockingIOError:  # another thread or process was quicker
            if time.monotonic() >= until:
                raise


def _write_alone(descriptor: int, piece: bytes, until: float) -> int:
    """Writes to a descriptor on which writing may wait, so no other thread may fill it after it had room."""
    if not _lock.acquire(timeout=max(0.0, until - time.monotonic())):
        raise BlockingIOError
    try:
        _wait_for_room(descriptor, until)
        return os.write(descriptor, piece)
    finally:
        _lock.release()


def _wait_for_room(descriptor: int, until: float) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
        raise BlockingIOError
