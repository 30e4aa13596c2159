"""Writes the file of reservations, usage and refusals in one thread. A result arrives when the data is on disk.

Changes that wait at the same time share one transaction, and so one wait for the disk. Reads have their own, so that
they work while writes fail.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from gateway.budgets.disk_errors import HANGS, DiskError, describe
from gateway.budgets.mirror import Mirror
from gateway.budgets.tasks import Task, Work
from gateway.budgets.usage_file import UsageFile, probe
from gateway.budgets.writing.task_queue import TaskQueue
from gateway.budgets.writing.writer import Writer

RETRY_AFTER = 1.0
"""Seconds until failed writes are tried again."""
HANGS_AFTER = 3.0
"""Seconds that the disk may take for what waits at the same time. It needs a few hundredths."""
READ_WITHIN = 2.0
"""Seconds for a read, so that the service gets an answer while it waits for one."""


class Disk:
    def __init__(self, file: Path) -> None:
        """Opens the file in the background. While that fails, every work fails and tries it again. Raises OSError."""
        self.on_new_store: Callable[[str], None] | None = None
        """Is called in the disk's thread with the id of a file that replaces a damaged one."""
        self.usage_file = UsageFile(file)
        self._mirror = Mirror()
        self._writer = Writer(self.usage_file, self._mirror, self._report_store)
        self._busy_since: float | None = time.monotonic()
        self._queue = TaskQueue()
        self._thread = threading.Thread(target=self._serve, name="disk", daemon=True)
        self._thread.start()

    @property
    def trouble(self) -> str:
        """Returns what is wrong with the disk, as the end of a sentence. Empty if the last write succeeded."""
        since = self._busy_since
        is_hanging = since is not None and time.monotonic() - since > HANGS_AFTER
        return self._writer.fault or (HANGS if is_hanging else "")

    def take_changes(self) -> None:
        """Begins to write kept changes. The rows of the previous process must be counted before, because they may have
        the same numbers.
        """
        self._writer.takes_changes = True
        self.keep(probe)

    def submit(self, work: Work, *, can_wait: bool = False) -> Future[Any]:
        """Queues work, in this order. The future has its result or exception. `can_wait`: see `TaskQueue.put_soon`."""
        done: Future[Any] = Future()
        self._put(Task(work, done), can_wait=can_wait)
        return done

    def keep(self, work: Work, *, can_wait: bool = False) -> None:
        """Queues a change that is tried until it is written, in the order of submission.

        One that fails for any other reason than the disk is dropped, because it would fail again: its reservation stays
        and counts in full.
        """
        self._put(Task(work), can_wait=can_wait)

    def _put(self, task: Task, *, can_wait: bool) -> None:
        put = self._queue.put_soon if can_wait else self._queue.put
        put(task)

    async def run(self, work: Work, *, is_read: bool = False) -> Any:
        """Returns the work's result, which is on disk unless it only reads. Raises DiskError.

        Waits for a disk that hangs, unless the work only reads: a change would be made later all the same.
        """
        done: Future[Any] = Future()
        self._queue.put(Task(work, done, is_read))
        try:
            async with asyncio.timeout(READ_WITHIN if is_read else None):
                return await asyncio.wrap_future(done)
        except TimeoutError:
            raise DiskError(HANGS) from None
        except Exception as error:  # noqa: BLE001 - a work may raise anything
            raise DiskError(describe(error, self.usage_file.folder)) from None

    def close(self) -> None:
        """Returns when all submitted work is on disk, or has failed once more."""
        self._queue.put(None)
        self._thread.join()

    def _report_store(self, store: str) -> None:
        if self.on_new_store is not None:
            self.on_new_store(store)

    def _serve(self) -> None:
        with suppress(Exception):  # the first work reports it
            _ = self.usage_file.connection
        is_last, retry_at, self._busy_since = False, 0.0, None
        while not is_last:
            tasks, is_last = self._queue.collect(within=RETRY_AFTER if self._writer.must_try_again else None)
            self._busy_since = time.monotonic()
            is_due = self._writer.takes_changes and (is_last or time.monotonic() >= retry_at)
            self._writer.write([each for each in tasks if not each.is_read], is_due=is_due)
            if self._writer.fault and is_due:
                retry_at = time.monotonic() + RETRY_AFTER
            for each in tasks:
                if each.is_read:
                    self._writer.read(each)
            self._busy_since = None
        self._writer.end()
