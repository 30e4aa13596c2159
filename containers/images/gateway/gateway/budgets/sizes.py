"""Remembers the sizes of each project's recent calls that fit into its day and its month, by their least need.

If a call that is hardly larger no longer fits, the budget counts as reached, even if some of it is left, because calls
like the project's do not fit into the rest. A large call counts less with each later call, so that smaller calls can
continue. The largest size of each hour is also on disk, so that a restart forgets nothing.
"""

import sqlite3
from collections.abc import Callable
from typing import NamedTuple

from gateway.budgets.disk import Disk, Work
from gateway.meters.usage import MOST
from gateway.periods import Period, name_of

_NOTE = """
    INSERT INTO sizes (project, hour, tokens, money) VALUES (?, ?, ?, ?)
    ON CONFLICT (project, hour) DO UPDATE SET
        tokens = max(tokens, excluded.tokens), money = max(money, excluded.money)
"""


FADES = 7, 8
"""The fraction of a call's size that remains after each later call: a quarter after ten calls."""


class Size(NamedTuple):
    tokens: int = 0
    money: int = 0


class Sizes:
    def __init__(self, write: Callable[[Work], None]) -> None:
        self._write = write
        self._of_late: dict[tuple[str, Period], tuple[str, Size]] = {}
        """The latest day and month of each project, with their names."""
        self._kept: dict[str, tuple[int, Size]] = {}
        """The size on disk for the latest hour of each project."""

    async def read(self, disk: Disk) -> None:
        """Raises DiskError."""
        for project, hour, tokens, money in await disk.do(_read):
            self._remember(project, hour, Size(tokens, money))
            self._kept[project] = hour, Size(tokens, money)

    def note(self, project: str, hour: int, size: Size) -> None:
        self._remember(project, hour, size)
        kept_hour, before = self._kept.get(project, (hour, Size()))
        if hour < kept_hour:  # it has waited for room into the next one
            return
        largest = _larger(before if hour == kept_hour else Size(), size)
        if (hour, largest) != (kept_hour, before):
            self._kept[project] = hour, largest
            self._write(_insert(project, hour, size))

    def _remember(self, project: str, hour: int, size: Size) -> None:
        for period in Period:
            name = name_of(period, hour)
            latest, before = self._of_late.get((project, period), ("", Size()))
            if name >= latest:
                faded = Size(*(each * FADES[0] // FADES[1] for each in before)) if name == latest else Size()
                self._of_late[project, period] = name, _larger(faded, size)

    def of_late(self, project: str, period: Period, hour: int) -> Size:
        name, size = self._of_late.get((project, period), ("", Size()))
        return size if name == name_of(period, hour) else Size()


def _larger(one: Size, other: Size) -> Size:
    return Size(max(one.tokens, other.tokens), max(one.money, other.money))


def _read(connection: sqlite3.Connection) -> list[tuple[str, int, int, int]]:
    return connection.execute("SELECT project, hour, tokens, money FROM sizes ORDER BY hour").fetchall()


def _insert(project: str, hour: int, size: Size) -> Work:
    def work(connection: sqlite3.Connection) -> None:
        connection.execute(_NOTE, (project, hour, *(min(each, MOST) for each in size)))

    return work
