"""Time limits for a thread's waits."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Deadline(threading.local):
    """The deadline of the current thread. `until` is a time on the monotonic clock; None means no limit."""

    until: float | None = None

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Limits all waits inside the block to `seconds` in total. Of nested limits, the one that ends first holds."""
        outer, until = self.until, time.monotonic() + seconds
        self.until = until if outer is None else min(until, outer)
        try:
            yield
        finally:
            self.until = outer

    @contextmanager
    def replaced(self, seconds: float) -> Iterator[None]:
        """Gives all waits inside the block `seconds` in total, even if the outer limit is over."""
        outer, self.until = self.until, time.monotonic() + seconds
        try:
            yield
        finally:
            self.until = outer
