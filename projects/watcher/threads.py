"""Base classes of the watcher's threads: how they are started and stopped."""

import threading
from abc import ABC, abstractmethod

from containers.processes.side_work import SideWork
from projects.watcher.heartbeat import Beat

ENDS_WITHIN = 30.0
"""Seconds that a running task gets when the watcher ends."""


class LastingThread(ABC):
    """One thread from `start` to `stop`. Its loop must check `_stopped`."""

    def __init__(self, *, name: str, end_within: float = 0.0, beat: Beat | None = None) -> None:
        """`end_within`: how many seconds `stop` waits for the work under way.

        `beat`: the loop's own sign of life, if it has one. `stop` ends it.
        """
        self.__end_within, self.__beat = end_within, beat
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @abstractmethod
    def _run(self) -> None: ...

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self.__beat is not None:
            self.__beat.end()
        if self.__end_within and self._thread.is_alive():
            self._thread.join(self.__end_within)


class PeriodicTask(ABC):
    """A task that runs now and then in a new thread, never twice at once. If no thread can be started, nobody waits for
    it, and the next time tries again.
    """

    def __init__(self, *, again_at: float = 0.0) -> None:
        """`again_at`: the task does not begin before this time on the monotonic clock."""
        self._again_at = again_at
        self._task: SideWork[None] | None = None

    @abstractmethod
    def _run(self) -> None: ...

    def _begin(self, *, now: float, every: float) -> None:
        """Starts the task in a new thread if it is due. Returns immediately."""
        if now < self._again_at or not self._is_over(within=0.0):
            return
        self._again_at = now + every
        self._task = SideWork(self._run)
        self._task.begin()

    def stop(self) -> None:
        """Waits until the running task has ended, at most `ENDS_WITHIN` seconds."""
        self._is_over(within=ENDS_WITHIN)

    def _is_over(self, *, within: float) -> bool:
        """Waits for the running task. Returns whether it is over. Cancels it if no thread has started it."""
        return self._task is None or self._task.cancel() or self._task.wait(within)
