"""How much of large requests may be in memory at a time: of all agents together, and of each."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.rules.refusals import RefusedError, Why

SMALL = 256 * 1024
"""Bytes of a request that always fits. Ordinary conversations are smaller."""
ALL = 160 * 1024 * 1024
EACH = 52 * 1024 * 1024


class Lease:
    def __init__(self, memory: "Memory", project: str, size: int) -> None:
        self._memory = memory
        self._project = project
        self._size = size

    def end(self) -> None:
        """The request is no longer in memory. Saying so twice does no harm."""
        size, self._size = self._size, 0
        self._memory.give_back(self._project, size)


class Memory:
    def __init__(self, *, everything: int = ALL, each: int = EACH) -> None:
        self._everything = everything
        self._each = each
        self._lent: defaultdict[str, int] = defaultdict(int)

    @contextmanager
    def borrow(self, project: str, size: int) -> Iterator[Lease]:
        """Raises RefusedError where the agent should come again later."""
        size = 0 if size <= SMALL else size
        if size and (self._lent[project] + size > self._each or sum(self._lent.values()) + size > self._everything):
            raise RefusedError(Why.LATER, "Too many large requests are on their way.", retry_after=2)
        self._lent[project] += size
        lease = Lease(self, project, size)
        try:
            yield lease
        finally:
            lease.end()

    def give_back(self, project: str, size: int) -> None:
        self._lent[project] -= size
        if not self._lent[project]:
            del self._lent[project]
