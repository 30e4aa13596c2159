"""Holds signals back while the files of an installation are exchanged, which takes moments and must not end halfway."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_HELD_BACK = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_held_back() -> Iterator[None]:
    """Signals that end the process take effect after the block. Call it in the main thread.

    They are received and kept instead of blocked, because the kernel would give blocked ones to any other thread.
    """
    came: list[int] = []

    def keep(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.signal(number, keep) for number in _HELD_BACK}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for received in came:
            signal.raise_signal(received)
