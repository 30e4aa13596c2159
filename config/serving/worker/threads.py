"""Pools of threads that report when no thread is available, and that lose none to errors."""

import logging
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue

from containers.processes.side_work import begin_in_time

log = logging.getLogger(__name__)

BEGINS_WITHIN = 0.5
"""Seconds for a thread to begin. A thread that gets no memory never does."""

SWITCHES_EVERY = 0.001
"""Seconds for which a thread may compute while others wait for the interpreter.

A read takes less, and returns to the interpreter several times: with Python's own 5 ms the slowest read alongside eight
deploys took a third longer."""

Act = Callable[[], object]


class Threads:
    """Any thread may call its methods. Its threads do not keep the process from ending."""

    def __init__(self, number: int, name: str) -> None:
        self._number, self._name = number, name
        self._acts: SimpleQueue[Act | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._beginning = threading.Lock()
        self._is_over = False
        self.begun = 0

    def begin(self) -> None:
        """Starts all of them now, because the kernel may give none later. Works with fewer, too."""
        sys.setswitchinterval(SWITCHES_EVERY)
        while self._begin_one():
            self._idle.release()

    def take(self, act: Act) -> bool:
        """Runs it in a thread, now or when one is free. Returns False if it will not run."""
        if self._is_over:
            return False
        try:
            has_thread = self._idle.acquire(blocking=False) or self._begin_one() or self.begun == self._number
            if has_thread:
                self._acts.put(act)
        except MemoryError:
            return False
        return has_thread

    def close(self) -> None:
        """Begins nothing more. Running work continues until the process ends."""
        self._is_over = True
        with suppress(MemoryError):
            self._acts.put(None)

    @property
    def waiting(self) -> int:
        """How many calls wait for a thread."""
        return self._acts.qsize()

    def _begin_one(self) -> bool:
        """Starts one more. Returns whether it began. Waits for others that start one, each with a time limit."""
        with self._beginning:
            if self.begun >= self._number:
                return False
            has_begun = begin_in_time(partial(self._work, self.begun), BEGINS_WITHIN)
            self.begun += has_begun
            return has_begun

    def _work(self, number: int) -> None:
        with suppress(MemoryError):
            threading.current_thread().name = f"{self._name}_{number}"
        while (act := self._acts.get()) is not None and not self._is_over:
            try:
                try:
                    act()
                finally:
                    del act
                    self._idle.release()
            except BaseException:
                with suppress(Exception):
                    log.exception("A thread's work failed. The thread continues.")
        self._acts.put(None)
