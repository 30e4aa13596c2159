"""Pools of threads that say where there is no thread, and that lose none to what they do."""

import logging
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue

from containers.side_work import begin_in_time

log = logging.getLogger(__name__)

BEGINS_WITHIN = 0.5
"""Seconds for a thread to begin. One that finds no memory never does."""

SWITCHES_EVERY = 0.001
"""Seconds for which a thread may compute while others wait for the interpreter. A read takes less, and comes back
to the interpreter several times: with Python's own 5 ms the slowest beside eight deploys took a third longer."""

Act = Callable[[], object]


class Threads:
    """Any thread may call its methods. Its threads keep no process from ending."""

    def __init__(self, number: int, name: str) -> None:
        self._number, self._name = number, name
        self._acts: SimpleQueue[Act | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._beginning = threading.Lock()
        self._is_over = False
        self.begun = 0

    def begin(self) -> None:
        """Starts all of them now: later the kernel may give none. With fewer than that it goes on."""
        sys.setswitchinterval(SWITCHES_EVERY)
        while self._begin_one():
            self._idle.release()

    def take(self, act: Act) -> bool:
        """Has it done by a thread, now or when one is free. Returns False where it will not be done."""
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
        """Nothing more is begun. What is under way goes on for as long as the process."""
        self._is_over = True
        with suppress(MemoryError):
            self._acts.put(None)

    @property
    def waiting(self) -> int:
        """How many wait for a thread."""
        return self._acts.qsize()

    def _begin_one(self) -> bool:
        """Returns whether there is one more. Waits for others who begin one, each of whom has a bound."""
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
                    log.exception("What a thread did broke. It goes on.")
        self._acts.put(None)
