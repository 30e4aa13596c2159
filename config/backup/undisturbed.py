"""Holds signals back while the files of an installation are exchanged, which takes moments and must not end halfway."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_HELD_BACK = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


@contextmanager
def signals_held_back() -> Iterator[None]:
    """Signals that end the process take effect after the block. Call it in the main thread."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD_BACK)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
