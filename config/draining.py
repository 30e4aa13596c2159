"""Whether this server is about to stop: it still serves, but asks its proxy to send no new requests."""

from ctypes import c_int


class Drain:
    """For a `serve`. Its first process sets the flag, in memory that all its processes share."""

    def __init__(self) -> None:
        self._flag = c_int(0)

    def follow(self, flag: c_int) -> None:
        """Called in each serving process before it begins to serve."""
        self._flag = flag

    @property
    def has_begun(self) -> bool:
        return bool(self._flag.value)


DRAIN = Drain()
"""Of this process."""
