"""Opens the usage file, and makes the changes that no call waits for."""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from gateway.budgets.disk import Disk, DiskError, Work

OPEN_AGAIN_AFTER = 2.0
"""Seconds until it is tried again to open the file."""
RETRY_AFTER = 1.0
"""Seconds until a failed write is tried again."""

logger = logging.getLogger(__name__)


class Writes:
    """Submits work until the disk accepts it.

    Until the file is open, work is kept in memory. The rows of the previous process must be counted first, because they
    may have the same numbers.
    """

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._kept: list[Work] = []
        self._opening: asyncio.Task[None] | None = None
        self.is_open = False

    async def open(self, recover: Callable[[], Awaitable[None]]) -> None:
        """Has the rows of the previous process counted, if necessary later in the background."""
        try:
            await self._open(recover)
        except DiskError as error:
            words = "The usage file cannot be written (%s), so calls under a budget are refused until it can."
            logger.error(words, error)  # noqa: TRY400 - says all that matters
            self._opening = asyncio.create_task(self._open_later(recover))

    async def _open_later(self, recover: Callable[[], Awaitable[None]]) -> None:
        while not self.is_open:
            await asyncio.sleep(OPEN_AGAIN_AFTER)
            with suppress(DiskError):
                await self._open(recover)
        logger.warning("The usage file can be written again.")

    async def _open(self, recover: Callable[[], Awaitable[None]]) -> None:
        """Raises DiskError."""
        await recover()
        self.is_open = True
        kept, self._kept = self._kept, []
        for work in kept:
            self.submit(work)

    def close(self) -> None:
        if self._opening is not None:
            self._opening.cancel()

    def submit_if_open(self, work: Work) -> None:
        """Submits work once that is not worth keeping."""
        if self.is_open:
            self._disk.submit(work)

    def submit(self, work: Work) -> None:
        """Does not wait for the work.

        Work that fails for any other reason than the disk is not tried again, because it would fail again: its
        reservation stays and counts in full.
        """
        if not self.is_open:
            self._kept.append(work)
            return
        loop = asyncio.get_running_loop()

        def retry(done: Future[Any]) -> None:
            if isinstance(done.exception(), sqlite3.OperationalError) and not loop.is_closed():
                loop.call_soon_threadsafe(loop.call_later, RETRY_AFTER, self.submit, work)

        self._disk.submit(work).add_done_callback(retry)
