"""What the disk's thread is asked to do."""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

Work = Callable[[sqlite3.Connection], Any]
MAX_BATCH = 256


class Task(NamedTuple):
    work: Work
    done: "Future[Any] | None" = None
    """None for a change that is kept until it is written."""
    is_read: bool = False

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody has waited, but waits no more."""
        return self.done is not None and self.done.cancelled()

    def finish(self, answer: Any) -> None:
        """Sets the result, unless the waiting caller has cancelled."""
        if self.done is not None and self.done.set_running_or_notify_cancel():
            self.done.set_result(answer)

    def fail(self, error: Exception) -> None:
        if self.done is not None and self.done.set_running_or_notify_cancel():
            self.done.set_exception(error)


def retrieve(done: "asyncio.Future[Any]") -> None:
    """Keeps asyncio from logging the failure of something for which nobody waits any more."""
    if not done.cancelled():
        done.exception()
