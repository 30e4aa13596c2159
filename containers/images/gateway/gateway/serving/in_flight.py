"""Tracks the requests in flight, so that all requests of a project can be ended."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from aiohttp import web

from gateway.entries.bindings import Bindings
from gateway.entries.entry import Entry
from gateway.pipes.piece_filter import BrokenError

CUT_WITHIN = 5.0
"""Seconds to wait until requests that were cut have ended. It takes milliseconds."""


class InFlight:
    """Knows a request by its connection, which serves one request at a time."""

    def __init__(self, bindings: Bindings) -> None:
        self._bindings = bindings
        self._connections: defaultdict[str, set[asyncio.Transport]] = defaultdict(set)

    async def cut(self, project: str) -> None:
        """Cuts the requests of a project whose credentials are void. They have ended when this returns."""
        cut = set(self._connections.get(project, ()))
        for transport in cut:
            transport.abort()
        with suppress(TimeoutError):
            async with asyncio.timeout(CUT_WITHIN):
                while cut & self._connections.get(project, set()):
                    await asyncio.sleep(0.001)

    @contextmanager
    def counted(self, entry: Entry, request: web.BaseRequest) -> Iterator[Callable[[], None]]:
        """Counts a request while it lasts. Yields a function that stops counting it before its end."""
        transport, mine = request.transport, self._connections[entry.project]
        if transport is None:
            raise BrokenError
        mine.add(transport)
        try:
            with self._bindings.in_use(entry.project):
                yield lambda: mine.discard(transport)
        finally:
            mine.discard(transport)
            if not mine and self._connections.get(entry.project) is mine:  # a newer set may have replaced it
                self._connections.pop(entry.project, None)
