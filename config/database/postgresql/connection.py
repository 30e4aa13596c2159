"""A connection on which every wait ends.

PostgreSQL's time limits end nothing if the server is frozen or its host has vanished, and those of TCP end nothing if
the host works and the server does not. So this side watches the clock as well.
"""

import select
import time
from typing import Any

import psycopg
from psycopg.abc import RV, PQGen

from config.database.limits import seconds_left, waiting

INTERVAL = 0.1
"""Seconds between two checks whether the connection still exists, as in psycopg."""


class HangingError(psycopg.OperationalError):
    """The server did not answer in time."""


class BoundedConnection(psycopg.Connection[Any]):
    is_direct = False
    """Whether the connection leads to the server itself. A pooler has process numbers of its own. A statement prepared
    through a pooler may run in another process, or its name may belong to another client."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.made_at = self.answered_at = time.monotonic()
        """When the connection was opened, and when the server last answered, on the monotonic clock."""

    def wait(self, gen: PQGen[RV], interval: float = INTERVAL, timeout: float | None = None) -> RV:
        """Waits within the limits of the calling thread. Closes a connection that exceeds them."""
        seconds = seconds_left()
        if seconds is None or (timeout is not None and timeout < seconds):
            return self._answered(super().wait(gen, interval=interval, timeout=timeout))
        if not seconds:
            gen.close()
            raise HangingError("The time limit for the database has passed.")
        try:
            with waiting():
                return self._answered(super().wait(gen, interval=interval, timeout=seconds))
        except psycopg.errors._WaitTimeout:  # noqa: SLF001 - which callers are to convert, as psycopg says
            self.close()
            raise HangingError("The database did not answer in time.") from None

    def _answered(self, result: RV) -> RV:
        self.answered_at = time.monotonic()
        return result

    def is_quiet(self) -> bool:
        """Returns whether nothing has arrived since the last answer. A server that stops says so, or its kernel closes
        the connection; in both cases there is something to read.
        """
        try:
            arrived = select.poll()
            arrived.register(self.fileno(), select.POLLIN)
            return not arrived.poll(0)
        except (OSError, psycopg.Error):
            return False

    def answers(self) -> bool:
        """Asks the server for an empty answer. Ends a transaction in which the connection was left."""
        try:
            if not self.autocommit:
                self.rollback()
                self.autocommit = True
            self.execute("")
        except psycopg.Error:
            return False
        return True
