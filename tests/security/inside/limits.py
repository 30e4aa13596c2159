"""Uses more than a plan gives. Runs inside a container."""

import os
import signal
import sys
from contextlib import suppress

MEGABYTE = 1 << 20


def fork_many() -> int:
    """Returns how many of 300 processes could be started."""
    children: list[int] = []
    with suppress(OSError):
        for _ in range(300):
            if not (child := os.fork()):
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                signal.pause()
            children.append(child)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return len(children)


def take_memory() -> int:
    """Allocates 400 MB and writes every page."""
    taken = [b"x" * MEGABYTE for _ in range(400)]
    return len(taken)


def fill_tmp() -> dict[str, object]:
    """Returns how much of 100 MB went into /tmp, and the error for the rest."""
    written = 0
    try:
        with open("/tmp/full", "wb", buffering=0) as file:  # noqa: PTH123 - unbuffered
            for _ in range(100):
                written += file.write(b"x" * MEGABYTE)
    except OSError as error:
        return {"written": written, "said": str(error)}
    return {"written": written, "said": ""}


def fill_log() -> int:
    """Prints `LOG_MEGABYTES` megabytes that do not compress well."""
    count = int(os.environ["LOG_MEGABYTES"])
    for _ in range(count * 64):
        sys.stdout.write(os.urandom(8191).hex() + "\n")
    return count
