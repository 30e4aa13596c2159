"""Measures how much memory Python uses for something, no matter what else the process uses."""

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager


class Peak:
    bytes = 0


@contextmanager
def measure_memory() -> Iterator[Peak]:
    """Measures the peak of the memory allocated inside, in bytes; known at the end."""
    peak = Peak()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    try:
        yield peak
    finally:
        peak.bytes = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
