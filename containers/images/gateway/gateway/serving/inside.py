"""Tracks the requests in flight, so that all requests of a project can be ended."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from aiohttp import web

from gateway.entries.bindings import Bindings
from gateway.entries.entry import Entry
from gateway.pipes.piece_filter import BrokenError

FENCED_WITHIN = 5.0
"""Seconds to wait until requests that were cut have ended. It takes milliseconds."""


class Inside:
    def __init__(self, bindings: Bindings) -> None:
        self._bindings = bindings
        self._of: defaultdict[str, set[asyncio.Transport]] = defaultdict(set)

    async def fence(self, project: str) -> None:
        """Cuts the requests of a project whose credentials are void. They have ended when this returns."""
        cut = set(self._of.get(project, ()))
        for transport in cut:
            transport.abort()
        with suppress(TimeoutError):
            async with asyncio.timeout(FENCED_WITHIN):
                while cut & self._of.get(project, set()):
                    await asyncio.sleep(0.001)

    @contextmanager
    def counted(self, entry: Entry, request: web.BaseRequest) -> Iterator[Callable[[], None]]:
        """Counts a request while it lasts. Yields a function that stops counting it before its end."""
        transport, inside = request.transport, self._of[entry.project]
        if transport is None:
            raise BrokenError
        inside.add(transport)
        try:
            with self._bindings.inside(entry.project):
                yield lambda: inside.discard(transport)
        finally:
            inside.discard(transport)
            if not inside and self._of.get(entry.project) is inside:  # a newer set may have replaced it meanwhile
                self._of.pop(entry.project, None)
