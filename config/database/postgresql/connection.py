"""A connection on which no wait lasts for ever.

PostgreSQL's own time limits end nothing where the server is frozen or its host has vanished, and those of TCP nothing
where the host lives and the server does not. So this side looks at the clock as well.
"""

import select
import time
from typing import Any

import psycopg
from psycopg.abc import RV, PQGen

from config.database.limits import seconds_left, waiting

INTERVAL = 0.1
"""Seconds between two looks whether the connection is still there, as in psycopg."""


class HangingError(psycopg.OperationalError):
    """The server did not answer in time."""


class BoundedConnection(psycopg.Connection[Any]):
    is_direct = False
    """Whether the server itself has made the connection, and no pooler in its name, which has numbers of its own for
    processes. What is prepared over a pooler may be asked of another process, or be another client's by that name.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.made_at = self.answered_at = time.monotonic()
        """When the server answered last, on the monotonic clock."""

    def wait(self, gen: PQGen[RV], interval: float = INTERVAL, timeout: float | None = None) -> RV:
        """Waits within the limits of the calling thread. A connection that exceeds them is closed."""
        seconds = seconds_left()
        if seconds is None or (timeout is not None and timeout < seconds):
            return self._answered(super().wait(gen, interval=interval, timeout=timeout))
        if not seconds:
            gen.close()
            raise HangingError("The time for the database is over.")
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
        """Whether nothing has come since the last answer. A server that ends says so, or its kernel closes the
        connection: either way there is something to read.
        """
        try:
            arrived = select.poll()
            arrived.register(self.fileno(), select.POLLIN)
            return not arrived.poll(0)
        except (OSError, psycopg.Error):
            return False

    def answers(self) -> bool:
        """Asks the server for an empty answer. Ends the transaction in which somebody has left the connection."""
        try:
            if not self.autocommit:
                self.rollback()
                self.autocommit = True
            self.execute("")
        except psycopg.Error:
            return False
        return True
