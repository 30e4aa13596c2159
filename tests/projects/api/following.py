"""A client that follows a log."""

from collections.abc import Iterator
from typing import Any


def hang_up(answer: Any) -> None:
    """The client leaves: does what `close()` does, except the signal that would close the test's own database."""
    for close in answer._resource_closers:
        close()


def events_of(stream: Iterator[bytes]) -> Iterator[str]:
    return (chunk.decode().strip() for chunk in stream)
