"""Saves records in a thread, one batch after the other, and waits for no disk for ever."""

import asyncio

from gateway.entries.record import Record
from gateway.entries.store import Store

SAVED_WITHIN = 5.0
"""Seconds that the disk may take."""


class Saving:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._last: asyncio.Future[None] | None = None
        self._hangs = False

    async def save(self, records: list[Record]) -> None:
        """Raises OSError: TimeoutError if the disk hangs, at once if it still does. What hangs is saved later all the
        same, before anything else is.
        """
        if self._last is not None and not self._last.done():
            if self._hangs:
                raise TimeoutError
            await self._wait_for(self._last)  # its caller is gone
        self._last = asyncio.ensure_future(asyncio.to_thread(self._store.save, records))
        self._last.add_done_callback(_retrieve)
        await self._wait_for(self._last)
        await self._last

    async def _wait_for(self, saving: "asyncio.Future[None]") -> None:
        done, _ = await asyncio.wait({saving}, timeout=SAVED_WITHIN)
        self._hangs = not done
        if self._hangs:
            raise TimeoutError


def _retrieve(saving: "asyncio.Future[None]") -> None:
    """Otherwise a failure that nobody waits for any more is logged with all that it holds."""
    if not saving.cancelled():
        saving.exception()
