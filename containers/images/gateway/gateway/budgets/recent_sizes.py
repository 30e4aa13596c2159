"""Remembers the least cost of each project's recent calls that fitted into its daily and monthly budget.

If a call that is hardly larger no longer fits, the budget counts as reached even if some of it is left, because the
project's usual calls no longer fit either. The weight of a large call fades with each later call, so that smaller
calls can continue. The largest size of each hour is also on disk, so that it survives a restart.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from gateway.budgets.disk import Disk
from gateway.budgets.tasks import Work
from gateway.meters.usage import MAX_COUNT
from gateway.periods import Period, name_of

_NOTE = """
    INSERT INTO sizes (project, hour, tokens, money) VALUES (?, ?, ?, ?)
    ON CONFLICT (project, hour) DO UPDATE SET
        tokens = max(tokens, excluded.tokens), money = max(money, excluded.money)
"""


FADING = 7, 8
"""Each later call reduces a remembered size to 7/8, so a quarter is left after ten calls."""


class Size(NamedTuple):
    tokens: int = 0
    money: int = 0


class RecentSizes:
    def __init__(self, write: Callable[[Work], None]) -> None:
        self._write = write
        self._recent: dict[tuple[str, Period], tuple[str, Size]] = {}
        """The size for the latest day and month of each project, with the name of the period."""
        self._kept: dict[str, tuple[int, Size]] = {}
        """The size on disk for the latest hour of each project."""

    async def read(self, disk: Disk) -> None:
        """Raises DiskError."""
        for project, hour, tokens, money in await disk.run(_read, is_read=True):
            self._remember(project, hour, Size(tokens, money))
            self._kept[project] = hour, Size(tokens, money)

    def note(self, project: str, hour: int, size: Size) -> None:
        self._remember(project, hour, size)
        kept_hour, before = self._kept.get(project, (hour, Size()))
        if hour < kept_hour:  # the call waited for room until the next hour
            return
        largest = _larger(before if hour == kept_hour else Size(), size)
        if (hour, largest) != (kept_hour, before):
            self._kept[project] = hour, largest
            self._write(_Note(project, hour, largest))

    def write_again(self) -> None:
        """Writes all sizes to a file that has replaced a damaged one."""
        for project, (hour, size) in self._kept.items():
            self._write(_Note(project, hour, size))

    def _remember(self, project: str, hour: int, size: Size) -> None:
        for period in Period:
            name = name_of(period, hour)
            latest, before = self._recent.get((project, period), ("", Size()))
            if name >= latest:
                faded = Size(*(each * FADING[0] // FADING[1] for each in before)) if name == latest else Size()
                self._recent[project, period] = name, _larger(faded, size)

    def recent(self, project: str, period: Period, hour: int) -> Size:
        name, size = self._recent.get((project, period), ("", Size()))
        return size if name == name_of(period, hour) else Size()


def _larger(one: Size, other: Size) -> Size:
    return Size(max(one.tokens, other.tokens), max(one.money, other.money))


def _read(connection: sqlite3.Connection) -> list[tuple[str, int, int, int]]:
    return connection.execute("SELECT project, hour, tokens, money FROM sizes ORDER BY hour").fetchall()


@dataclass(frozen=True, slots=True)
class _Note:
    project: str
    hour: int
    size: Size

    @property
    def key(self) -> object:
        """See `merge`. Of a day in which nothing could be written, the last hour is enough."""
        return _Note, self.project, self.hour // 24

    def __call__(self, connection: sqlite3.Connection) -> None:
        connection.execute(_NOTE, (self.project, self.hour, *(min(each, MAX_COUNT) for each in self.size)))
