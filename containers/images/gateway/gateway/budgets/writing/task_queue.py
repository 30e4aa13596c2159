"""What waits for the disk's thread. However long the disk hangs, it takes little memory."""

import asyncio
import threading

from gateway.budgets.tasks import MAX_BATCH, Task
from gateway.budgets.writing.merging import merge

COLLECTED_FOR = 0.02
"""Seconds for which changes that can wait are collected. Then they share one commit, and their calls do not wait for
Python's lock while the disk's thread holds it."""
MOST_WAITING = 2000
"""Tasks that wait before they are merged. A disk that works leaves a few hundred at most."""


class TaskQueue:
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[Task] = []
        self._merge_at = MOST_WAITING
        self._is_ended = False
        self._collected: list[Task] = []

    def put(self, task: Task | None) -> None:
        """Puts the task after all collected ones. None ends the queue."""
        collected, self._collected = self._collected, []
        with self._changed:
            self._waiting += collected
            if task is None:
                self._is_ended = True
            else:
                self._waiting.append(task)
            if len(self._waiting) > self._merge_at:
                self._waiting = merge(self._waiting)
                self._merge_at = max(MOST_WAITING, 2 * len(self._waiting))
            self._changed.notify()

    def put_soon(self, task: Task) -> None:
        """Puts the task with the next one that cannot wait, or in a moment. Needs a running event loop."""
        if not self._collected:
            asyncio.get_running_loop().call_later(COLLECTED_FOR, self._put_collected)
        self._collected.append(task)

    def _put_collected(self) -> None:
        if self._collected:
            self.put(self._collected.pop())

    def collect(self, *, within: float | None) -> tuple[list[Task], bool]:
        """Waits up to `within` seconds (None: no limit). Returns the tasks, and whether they are the last."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_ended, within)
            tasks, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
            return tasks, self._is_ended and not self._waiting
