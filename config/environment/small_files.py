"""Reads a small file of the operator's, or a pipe of a program that prints it, such as that of a password manager."""

import os
import select
import time
from pathlib import Path

PATIENCE = 30.0
"""Seconds for a program to write all of it into a pipe."""


def read_small(path: Path, *, most: int) -> bytes:
    """Returns the contents, of which it reads hardly more than `most` bytes. Raises `OSError`, also if they do not end
    in time.
    """
    deadline = time.monotonic() + PATIENCE
    # Opening a named pipe would otherwise wait for the program that writes into it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        return _read(descriptor, most, deadline)
    finally:
        os.close(descriptor)


def _read(descriptor: int, most: int, deadline: float) -> bytes:
    found = b""
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    while len(found) <= most:
        if not ready.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise TimeoutError(0, f"nothing was written into it for {PATIENCE:.0f} seconds")
        try:
            piece = os.read(descriptor, most + 1)
        except BlockingIOError:
            continue
        if not piece:
            break
        found += piece
    return found
