"""How the watcher's own threads are started and asked to end."""

import threading
from abc import ABC, abstractmethod

from containers.side_work import SideWork
from projects.watcher.pulse import Beat

ENDS_WITHIN = 30.0
"""Seconds for an errand that is under way when the watcher ends."""


class LastingThread(ABC):
    """One thread from `start` to `stop`, whose loop asks `_stopped`."""

    def __init__(self, *, name: str, end_within: float = 0.0, beat: Beat | None = None) -> None:
        """`end_within`: so many seconds `stop` waits for what is under way, which is given up then.

        `beat` is its sign of life, where the loop shows one of its own: it ends with the thread.
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


class Errands(ABC):
    """Work that is due now and then: a thread for each time, and never two at once. Where the kernel gives no thread,
    or no memory to it, nobody waits for that, and another one is tried the next time.
    """

    def __init__(self, *, again_at: float = 0.0) -> None:
        """`again_at` is the moment, on the monotonic clock, before which none begins."""
        self._again_at = again_at
        self._errand: SideWork[None] | None = None

    @abstractmethod
    def _run(self) -> None: ...

    def _begin(self, *, now: float, every: float) -> None:
        """Begins one where it is due. Returns at once."""
        if now < self._again_at or not self._is_over(within=0.0):
            return
        self._again_at = now + every
        self._errand = SideWork(self._run)
        self._errand.begin()

    def stop(self) -> None:
        """Returns when the one under way has ended, or has taken too long."""
        self._is_over(within=ENDS_WITHIN)

    def _is_over(self, *, within: float) -> bool:
        """Waits for one that is under way. One that no thread has begun by now will not be."""
        return self._errand is None or self._errand.cancel() or self._errand.wait(within)
