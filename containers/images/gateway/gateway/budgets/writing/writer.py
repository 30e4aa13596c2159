"""Makes changes on the disk, and keeps those that must not be lost until they are made. Used by the disk's thread only.

A commit that fails may be made all the same: if its error came after the log had it, the next opening of the file finds
it there. So each transaction leaves a token, and before anything else is written the file is asked whether it has that
of the last attempt. To make the same changes again would count calls twice.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from gateway.budgets.disk_errors import FULL, describe, is_damage, is_of_disk
from gateway.budgets.mirror import Mirror
from gateway.budgets.tasks import MAX_BATCH, Task
from gateway.budgets.usage_file import Commit, UnknownOutcomeError, UsageFile, probe
from gateway.budgets.writing.merging import merge

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A commit of which it is unknown whether it was made. Its callers wait, as for a disk that hangs."""

    tasks: list[Task]
    commit: Commit
    error: Exception


class Writer:
    def __init__(self, usage_file: UsageFile, mirror: Mirror, report_store: Callable[[str], None]) -> None:
        """Calls `report_store` with the id of a file that replaces a damaged one."""
        self._file = usage_file
        self._mirror = mirror
        self._report_store = report_store
        self._attempt: Attempt | None = None
        self._kept: list[Task] = []
        self._merge_at = MAX_BATCH
        self.takes_changes = False
        """Whether kept changes are written, and a file that has lost its id is filled."""
        self.fault = ""
        """What is wrong with the disk, as the end of a sentence. Empty if the last write succeeded."""

    @property
    def must_try_again(self) -> bool:
        return bool(self.fault) and (self.takes_changes or self._attempt is not None)

    def write(self, tasks: list[Task], *, is_due: bool) -> None:
        """Commits what somebody waits for, and if it is due also what is kept."""
        if not self._find_out():
            self._put_off(tasks)
        elif is_due:
            kept, self._kept = self._kept, []
            if self.fault and not kept and not tasks:
                kept = [Task(probe)]
            if kept or tasks:
                self._commit([*kept, *tasks])
        else:
            self._kept += (each for each in tasks if each.done is None)
            if waiting := [each for each in tasks if each.done is not None]:
                self._commit(waiting)
        if len(self._kept) > self._merge_at:
            self._kept = merge(self._kept)
            self._merge_at = max(MAX_BATCH, 2 * len(self._kept))

    def read(self, task: Task) -> None:
        """Reads in a transaction of its own. After a failure a damaged file is replaced, so the next read works."""
        self._find_out()
        try:
            answer = self._file.read(task.work)
        except Exception as error:  # noqa: BLE001 - see `_commit`
            if is_damage(error):
                self._set_aside(error)
            if self.takes_changes:
                self._commit([Task(probe)])
            task.fail(error)
            return
        self._mirror.note(task.work, answer)
        task.finish(answer)

    def end(self) -> None:
        """Gives up what could not be written."""
        left = [*(self._attempt.tasks if self._attempt else []), *self._kept]
        for each in left:
            each.fail(OSError())
        if number := sum(each.done is None for each in left):
            logger.error("%s changes could not be written to disk before the end.", number)
        self._file.close()

    def _commit(self, tasks: list[Task], *, is_again: bool = False) -> None:
        """Commits all in one transaction. A file that has lost its id is filled before."""
        if not self._find_out():
            self._put_off(tasks)
            return
        fill = self._mirror.write_again if self.takes_changes else None
        try:
            commit = self._file.change([each.work for each in tasks], fill)
        except UnknownOutcomeError as error:
            self._attempt = Attempt(tasks, error.commit, error.error)
            self._file.close()  # SQLite reads the log only when it opens the file
            self._find_out()
        except Exception as error:  # noqa: BLE001 - the only thread must survive any exception of a work
            self._handle(error, tasks, is_again=is_again)
        else:
            self._note_made(tasks, commit)

    def _find_out(self) -> bool:
        """Returns whether it is known what became of the last attempt. A file that replaces a damaged one lacks it."""
        attempt = self._attempt
        if attempt is None:
            return True
        try:
            is_made = self._file.has(attempt.commit)
        except Exception as error:  # noqa: BLE001 - see `_commit`
            if not is_damage(error) or not self._set_aside(error):
                self._note_trouble(error)
                return False
            is_made = False
        self._attempt = None
        if is_made:
            logger.warning("The disk has reported an error, but it has what was written.")
            self._note_made(attempt.tasks, attempt.commit)
        else:
            later, self._kept = self._kept, []
            self._handle(attempt.error, attempt.tasks)
            self._kept += later
        return self._attempt is None

    def _note_made(self, tasks: list[Task], commit: Commit) -> None:
        if self.fault and not self._kept:
            logger.warning("The usage file can be written again.")
            self.fault = ""
        if commit.store:
            self._file.torn.forget()
            self._report_store(commit.store)
        for each, answer in zip(tasks, commit.answers, strict=True):
            self._mirror.note(each.work, answer)
            each.finish(answer)

    def _handle(self, error: Exception, tasks: list[Task], *, is_again: bool = False) -> None:
        """If one of them is faulty, commits each alone, so that it does not fail the others."""
        if is_damage(error) and not is_again and self._set_aside(error):
            self._commit(tasks, is_again=True)
        elif is_of_disk(error):
            self._note_trouble(error)
            self._put_off(tasks, error)
        elif len(tasks) > 1:
            for each in tasks:
                self._commit([each])
        else:
            # The message could quote an agent's data.
            logger.error("A change could not be written to disk: %s", type(error).__name__)
            for each in tasks:
                each.fail(error)

    def _put_off(self, tasks: list[Task], error: Exception | None = None) -> None:
        """Keeps what nobody waits for. The rest fails."""
        self._kept += (each for each in tasks if each.done is None)
        for each in tasks:
            each.fail(error or OSError())

    def _set_aside(self, error: Exception) -> bool:
        """Returns whether the damaged file is out of the way."""
        try:
            self._file.set_aside(error)
        except OSError:
            return False
        return True

    def _note_trouble(self, error: Exception) -> None:
        fault = describe(error, self._file.folder)
        if fault != self.fault:
            logger.error("The usage file cannot be written, so calls under a budget are refused: %s.", fault)
        self.fault = fault
        if fault != FULL:  # then reads still work, and the file could not be opened again
            self._file.close()
