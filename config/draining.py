"""Whether this server is about to end: it still serves, and has a proxy send nobody more."""

from ctypes import c_int


class Drain:
    """Of a `serve`. Its first process sets the flag, in memory that all of its processes share."""

    def __init__(self) -> None:
        self._flag = c_int(0)

    def follow(self, flag: c_int) -> None:
        """For each process that serves, before it begins to."""
        self._flag = flag

    @property
    def has_begun(self) -> bool:
        return bool(self._flag.value)


DRAIN = Drain()
"""Of this process."""
