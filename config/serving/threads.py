"""Pools of threads that say where there is no thread."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


class Threads(ThreadPoolExecutor):
    """Any thread may call its methods."""

    def __init__(self, number: int, name: str) -> None:
        super().__init__(number, name)
        self._number = number

    def begin(self) -> None:
        """Starts all of them now: later the kernel may give none. With fewer than that it goes on."""
        met = threading.Barrier(self._number)
        try:
            for _ in range(self._number):
                self.submit(met.wait)
        except (RuntimeError, MemoryError):
            met.abort()

    def take(self, act: Callable[[], object]) -> bool:
        """Has it done by a thread, now or when one is free. Returns False where it will not be done."""
        turn = threading.Lock()  # of whom is first: the thread that does it, or this one, which gives it up

        def do() -> None:
            if turn.acquire(blocking=False):
                act()

        try:
            self.submit(do)
        except (RuntimeError, MemoryError):  # it may be in the queue all the same
            return not turn.acquire(blocking=False)
        return True
