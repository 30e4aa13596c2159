"""How the watcher's own threads are started and asked to end."""

import threading
from abc import ABC, abstractmethod

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
    """Work that is due now and then: a thread for each time, and never two at once."""

    def __init__(self, *, name: str, again_at: float = 0.0) -> None:
        """`again_at` is the moment, on the monotonic clock, before which none begins."""
        self._again_at = again_at
        self._thread: threading.Thread | None = None
        self.__name = name

    @abstractmethod
    def _run(self) -> None: ...

    def _begin(self, *, now: float, every: float) -> None:
        """Begins one where it is due. Returns at once."""
        if (self._thread is not None and self._thread.is_alive()) or now < self._again_at:
            return
        self._again_at = now + every
        self._thread = threading.Thread(target=self._run, name=self.__name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Returns when the one under way has ended, or has taken too long."""
        if self._thread is not None:
            self._thread.join(ENDS_WITHIN)
