"""Limits the parts of a request that are not its body: its head, the lines between its chunks, and its trailers.

The library keeps heads and trailers in memory, each field twice. Without this limit, the connections of two agents
filled the container's 512 MiB.
"""

from aiohttp import StreamReader
from aiohttp.typedefs import RawHeaders

LONGEST_HEAD = 32 * 1024
"""Bytes. Berth's own web server accepts as many."""
_BETWEEN = len(": \r\n")
"""Bytes of a line of a head, besides its name and value."""


class HeadSizes:
    """Measures what comes on one connection until its request is complete."""

    def __init__(self) -> None:
        self._size = 0
        self._body: StreamReader | None = None
        """The body of the newest request."""
        self._body_size = 0

    def is_too_long(self, size: int, newest: StreamReader | None) -> bool:
        """Counts so many bytes, with which heads have ended if there is a `newest` body. Returns whether more has come
        since the last head or piece of a body than may come. A head that has ended is left to `size_of`.
        """
        if newest is not None:
            self._body = newest
        elif self._body is None or self._body.total_bytes == self._body_size:
            self._size += size
            return self._size > LONGEST_HEAD
        self._size, self._body_size = 0, self._body.total_bytes
        return False


def size_of(head: RawHeaders) -> int:
    """Returns the bytes of the head of a request, without its first line."""
    return sum(len(name) + len(value) + _BETWEEN for name, value in head)
