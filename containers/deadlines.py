"""Until when a thread may wait."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Deadline(threading.local):
    """Each thread's own. `until` is a time on the monotonic clock; None where nothing limits the thread."""

    until: float | None = None

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Limits all waits inside to `seconds` together. Of nested limits the one that ends first holds."""
        outer, until = self.until, time.monotonic() + seconds
        self.until = until if outer is None else min(until, outer)
        try:
            yield
        finally:
            self.until = outer

    @contextmanager
    def anew(self, seconds: float) -> Iterator[None]:
        """Gives all waits inside `seconds` together, also where the limit outside is over."""
        outer, self.until = self.until, time.monotonic() + seconds
        try:
            yield
        finally:
            self.until = outer
