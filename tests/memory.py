"""Measures how much memory Python takes for something, whatever else the process holds."""

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager


class Peak:
    bytes = 0


@contextmanager
def measure_memory() -> Iterator[Peak]:
    """The peak of what is allocated inside, in bytes; known at the end."""
    peak = Peak()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    try:
        yield peak
    finally:
        peak.bytes = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
