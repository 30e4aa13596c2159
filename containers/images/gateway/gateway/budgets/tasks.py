"""What the disk's thread is asked to do, and how many such tasks wait."""

import asyncio
import queue
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

Work = Callable[[sqlite3.Connection], Any]
MAX_BATCH = 256
COLLECTED_FOR = 0.02
"""Seconds for which changes that can wait are collected. Then they share one commit, and their calls do not wait for
Python's lock while the disk's thread holds it."""


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


def retrieve(done: "asyncio.Future[Any]") -> None:
    """Keeps asyncio from logging the failure of something for which nobody waits any more."""
    if not done.cancelled():
        done.exception()


class TaskQueue:
    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._collected: list[Task] = []

    def put(self, task: Task | None) -> None:
        """Puts the task after all collected ones. None ends the queue."""
        self._put_collected()
        self._queue.put(task)

    def put_soon(self, task: Task) -> None:
        """Puts the task with the next one that cannot wait, or in a moment. Needs a running event loop."""
        if not self._collected:
            asyncio.get_running_loop().call_later(COLLECTED_FOR, self._put_collected)
        self._collected.append(task)

    def _put_collected(self) -> None:
        collected, self._collected = self._collected, []
        for each in collected:
            self._queue.put(each)

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
