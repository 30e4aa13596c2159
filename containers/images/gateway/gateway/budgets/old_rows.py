"""Deletes rows of hours that are long over.

A row that is deleted and counted in again would replace, in the service, the larger one that it has read. So rows are
deleted only if they are read and the clock, which may be wrong, has stayed for hours where they are old.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from gateway.budgets.tasks import Work
from gateway.periods import hour_of

KEPT_HOURS = 62 * 24
"""Hours for which rows are kept: the current and the previous month."""
TRUSTED_AFTER = 6 * 3600.0
"""Seconds for which the clock must show the same day."""

_DELETE_READ = """
    DELETE FROM usage WHERE hour < ? AND seq <= (SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'read')
"""


class OldRows:
    def __init__(self, write: Callable[[Work], None], now: Callable[[], float]) -> None:
        self._write = write
        self._now = now
        self._shown = 0, 0.0
        """The day that the clock shows, and since when by the clock of the event loop."""
        self._forgotten = 0
        """The day on which rows were deleted last."""

    def forget(self) -> None:
        """Deletes old rows once a day."""
        hour, tick = hour_of(self._now()), asyncio.get_running_loop().time()
        day, since = self._shown
        if hour // 24 != day:
            self._shown = hour // 24, tick
        elif day != self._forgotten and tick >= since + TRUSTED_AFTER:
            self._forgotten = day
            self._write(ForgetBefore(hour - KEPT_HOURS))


@dataclass(frozen=True, slots=True)
class ForgetBefore:
    """Deletes what is older than this hour and read."""

    hour: int

    @property
    def key(self) -> object:
        """See `merge`."""
        return ForgetBefore

    def __call__(self, connection: sqlite3.Connection) -> None:
        connection.execute(_DELETE_READ, (self.hour,))
        connection.execute("DELETE FROM sizes WHERE hour < ?", (self.hour,))
