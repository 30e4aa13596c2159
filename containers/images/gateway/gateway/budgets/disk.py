"""Writes the file of reservations, usage and refusals in one thread. A result arrives when the data is on disk.

Changes that wait at the same time share one transaction, and so one wait for the disk. Reads have their own, so that
they work while writes fail.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from gateway.budgets.changes import merge
from gateway.budgets.disk_errors import FULL, HANGS, DiskError, describe, is_damage, is_of_disk
from gateway.budgets.mirror import Mirror
from gateway.budgets.tasks import MAX_BATCH, Task, TaskQueue, Work
from gateway.budgets.usage_file import UsageFile, probe

RETRY_AFTER = 1.0
"""Seconds until failed writes are tried again."""
HANGS_AFTER = 3.0
"""Seconds that the disk may take for what waits at the same time. It needs a few hundredths."""
READ_WITHIN = 2.0
"""Seconds for a read, so that the service gets an answer while it waits for one."""

logger = logging.getLogger(__name__)


class Disk:
    def __init__(self, file: Path) -> None:
        """Opens the file in the background. While that fails, every work fails and tries it again. Raises OSError."""
        self.on_new_store: Callable[[str], None] | None = None
        """Is called in the disk's thread with the id of a file that replaces a damaged one."""
        self.usage_file = UsageFile(file)
        self._mirror = Mirror()
        self._fault = ""
        self._busy_since: float | None = time.monotonic()
        self._takes_changes = False
        self._kept: list[Task] = []
        self._queue = TaskQueue()
        self._thread = threading.Thread(target=self._serve, name="disk", daemon=True)
        self._thread.start()

    @property
    def trouble(self) -> str:
        """Returns what is wrong with the disk, as the end of a sentence. Empty if the last write succeeded."""
        since = self._busy_since
        return self._fault or (HANGS if since is not None and time.monotonic() - since > HANGS_AFTER else "")

    def take_changes(self) -> None:
        """Begins to write kept changes. The rows of the previous process must be counted before, because they may have
        the same numbers.
        """
        self._takes_changes = True
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

    def _serve(self) -> None:
        with suppress(Exception):  # the first work reports it
            _ = self.usage_file.connection
        is_last, retry_at, self._busy_since = False, 0.0, None
        while not is_last:
            waits = RETRY_AFTER if self._fault and self._takes_changes else None
            tasks, is_last = self._queue.collect(within=waits)
            self._busy_since = time.monotonic()
            is_due = self._takes_changes and (is_last or time.monotonic() >= retry_at)
            self._write([each for each in tasks if not each.is_read], is_due=is_due)
            if self._fault and is_due:
                retry_at = time.monotonic() + RETRY_AFTER
            for each in tasks:
                if each.is_read:
                    self._read(each)
            self._busy_since = None
        if self._kept:
            logger.error("%s changes could not be written to disk before the end.", len(self._kept))
        self.usage_file.close()

    def _write(self, tasks: list[Task], *, is_due: bool) -> None:
        if is_due:
            kept, self._kept = self._kept, []
            if self._fault and not kept and not tasks:
                kept = [Task(probe)]
            if kept or tasks:
                self._commit([*kept, *tasks])
        else:
            self._kept += (each for each in tasks if each.done is None)
            if waiting := [each for each in tasks if each.done is not None]:
                self._commit(waiting)
        if len(self._kept) > MAX_BATCH:
            self._kept = [Task(work) for work in merge(each.work for each in self._kept)]

    def _commit(self, tasks: list[Task], *, is_again: bool = False) -> None:
        """Commits all in one transaction. A file that has lost its id is filled before."""
        fill = self._mirror.write_again if self._takes_changes else None
        try:
            answers, store = self.usage_file.change([each.work for each in tasks], fill)
        except Exception as error:  # noqa: BLE001 - the only thread must survive any exception of a work
            self._handle(error, tasks, is_again=is_again)
            return
        self._note_success()
        if store and self.on_new_store is not None:
            self.on_new_store(store)
        for each, answer in zip(tasks, answers, strict=True):
            self._mirror.note(each.work, answer)
            each.finish(answer)

    def _handle(self, error: Exception, tasks: list[Task], *, is_again: bool) -> None:
        """If one of them is faulty, commits each alone, so that it does not fail the others."""
        if is_damage(error) and not is_again and self._set_aside(error):
            self._commit(tasks, is_again=True)
            return
        if not is_of_disk(error) and len(tasks) > 1:
            for each in tasks:
                self._commit([each])
            return
        if is_of_disk(error):
            self._note_trouble(error)
            self._kept += (each for each in tasks if each.done is None)
        else:
            # The message could quote an agent's data.
            logger.error("A change could not be written to disk: %s", type(error).__name__)
        for each in tasks:
            each.fail(error)

    def _read(self, task: Task) -> None:
        """Reads in a transaction of its own. After a failure a damaged file is replaced, so the next read works."""
        try:
            answer = self.usage_file.read(task.work)
        except Exception as error:  # noqa: BLE001 - see `_commit`
            if is_damage(error):
                self._set_aside(error)
            if self._takes_changes:
                self._commit([Task(probe)])
            task.fail(error)
            return
        self._mirror.note(task.work, answer)
        task.finish(answer)

    def _set_aside(self, error: Exception) -> bool:
        """Returns whether the damaged file is out of the way."""
        try:
            self.usage_file.set_aside(error)
        except OSError:
            return False
        return True

    def _note_trouble(self, error: Exception) -> None:
        fault = describe(error, self.usage_file.folder)
        if fault != self._fault:
            logger.error("The usage file cannot be written, so calls under a budget are refused: %s.", fault)
        self._fault = fault
        if fault != FULL:  # then reads still work, and the file could not be opened again
            self.usage_file.close()

    def _note_success(self) -> None:
        if self._fault and not self._kept:
            logger.warning("The usage file can be written again.")
            self._fault = ""
