"""How much of large requests may be in memory at a time: of all agents together, and of each.

A request counts once. It is there once while it comes and once while the provider reads it; what is more is made and
given up in one go (its text, the values in it, what is written of them), which only one request at a time can be in.
One that waits for room in a budget keeps no more than what came, and is read anew.
Five of the largest at once, which is all that is lent, were measured at 343 MiB of the container's 512; twelve talks of
12 MB in short texts with an emoji in each, which takes the most, at 376; thirteen of those that had waited, at 355.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gateway.rules.refusals import RefusedError, Why

SMALL = 256 * 1024
"""Bytes of a request that always fits. Ordinary conversations are smaller."""
ALL = 160 * 1024 * 1024
EACH = 64 * 1024 * 1024
"""Two of the largest requests, and a few large conversations."""
PATIENCE = 20.0
"""Seconds that a large request waits for others to end. Nothing of it is read meanwhile."""


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
    def __init__(self, *, everything: int = ALL, each: int = EACH, patience: float = PATIENCE) -> None:
        self._everything = everything
        self._each = each
        self._patience = patience
        self._lent: defaultdict[str, int] = defaultdict(int)
        self._waiting: defaultdict[str, deque[object]] = defaultdict(deque)
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def borrow(self, project: str, size: int) -> AsyncIterator[Lease]:
        """Waits until there is room, one large request of a project after the other.

        Raises RefusedError where the agent should come again later.
        """
        size = 0 if size <= SMALL else size
        if size:
            await self._wait_for_room(project, size)
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
        if size:
            self._wake()

    async def _wait_for_room(self, project: str, size: int) -> None:
        """When this returns there is room, until somebody else is let in."""
        queue, me = self._waiting[project], object()
        queue.append(me)
        try:
            async with asyncio.timeout(self._patience):
                while queue[0] is not me or not self._has_room(project, size):
                    await self._freed.wait()
        except TimeoutError:
            raise RefusedError(Why.LATER, "Too many large requests are on their way.", retry_after=2) from None
        finally:
            queue.remove(me)
            if not queue:
                del self._waiting[project]
            self._wake()  # the next one of the project is the first one now

    def _has_room(self, project: str, size: int) -> bool:
        of_all = sum(self._lent.values())
        return self._lent.get(project, 0) + size <= self._each and of_all + size <= self._everything

    def _wake(self) -> None:
        """Has all that wait look for room again."""
        freed, self._freed = self._freed, asyncio.Event()
        freed.set()
