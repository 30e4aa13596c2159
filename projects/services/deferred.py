"""Changes that a request owes because the database failed it. A thread makes them once the database answers again."""

import logging
import threading
import time
from collections.abc import Callable

from django.db import connections
from django.db.utils import Error as DatabaseError

from containers.processes.side_work import begin_in_time

log = logging.getLogger(__name__)

WITHIN = 120.0
"""Seconds for which a change waits for the database. It must not matter much: it is lost if the process ends."""

AGAIN = 1.0
"""Seconds until the next attempt."""

BEGINS_WITHIN = 0.5
"""Seconds for the thread to begin. If memory is exhausted it never does, and the next change tries again."""

MOST = 1000
"""The maximum of changes that wait."""


class _Deferred:
    """The changes that wait, each with the end of its time on the monotonic clock. The thread ends with the last."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Callable[[], object], float]] = []
        self._lock = threading.Lock()
        self._is_running = False

    def add(self, change: Callable[[], object]) -> None:
        with self._lock:
            if len(self._waiting) < MOST:
                self._waiting.append((change, time.monotonic() + WITHIN))
            if not self._is_running:
                self._is_running = begin_in_time(self._run, BEGINS_WITHIN)

    def _run(self) -> None:
        while self._goes_on():
            time.sleep(AGAIN)
            try:
                self._try_all()
            except DatabaseError as error:
                log.info("Changes wait for the database: %s", type(error).__name__)
            finally:
                connections.close_all()

    def _goes_on(self) -> bool:
        now = time.monotonic()
        with self._lock:
            self._waiting = [each for each in self._waiting if each[1] > now]
            self._is_running = bool(self._waiting)
            return self._is_running

    def _try_all(self) -> None:
        for each in tuple(self._waiting):
            try:
                each[0]()
            except DatabaseError:
                raise
            except Exception:
                log.exception("A change that waited for the database failed.")
            with self._lock:
                self._waiting.remove(each)


_deferred = _Deferred()


def defer(change: Callable[[], object]) -> None:
    """Makes the change in another thread once the database answers. It must check that it still applies."""
    _deferred.add(change)
