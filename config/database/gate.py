"""Keeps requests from a database that answers nobody: one request tries, and the others fail at once."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import Error, OperationalError

from config.pause_detection import PAUSE_DETECTOR


class Gate:
    """Open until a thread could not connect. Then one thread at a time may try, until one succeeds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_shut = False
        self._is_tried = False

    @contextmanager
    def passing(self, *, is_patient: bool) -> Iterator[None]:
        """Connect inside the block. Raises `OperationalError` if another thread is trying.

        `is_patient`: a failure means that the server answers nobody, and not only that this thread had no time left. If
        this process stood still meanwhile, a failure means nothing.
        """
        began = time.monotonic()
        is_trying = self._is_shut and self._try()
        try:
            yield
        except Error:
            self._is_shut = self._is_shut or (is_patient and not PAUSE_DETECTOR.paused_since(began))
            raise
        else:
            self._is_shut = False
        finally:
            if is_trying:
                self._is_tried = False

    def _try(self) -> bool:
        with self._lock:
            if self._is_tried:
                raise OperationalError("The database did not answer recently. Only one connection at a time is tried.")
            self._is_tried = True
        return True
