"""What the disk's thread is asked to do, and how many such tasks wait."""

import queue
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

    def finish(self, answer: Any) -> None:
        """Sets the result, unless the waiting caller has cancelled."""
        if self.done is not None and self.done.set_running_or_notify_cancel():
            self.done.set_result(answer)

    def fail(self, error: Exception) -> None:
        if self.done is not None and self.done.set_running_or_notify_cancel():
            self.done.set_exception(error)


class TaskQueue:
    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Task | None] = queue.SimpleQueue()

    def put(self, task: Task | None) -> None:
        """None ends the queue."""
        self._queue.put(task)

    def collect(self, *, within: float | None) -> tuple[list[Task], bool]:
        """Waits up to `within` seconds (None: no limit). Returns the tasks, and whether they are the last."""
        tasks: list[Task] = []
        try:
            following = self._queue.get(timeout=within)
        except queue.Empty:
            return tasks, False
        while following is not None:
            tasks.append(following)
            if len(tasks) == MAX_BATCH or self._queue.empty():
                return tasks, False
            following = self._queue.get()
        return tasks, True
