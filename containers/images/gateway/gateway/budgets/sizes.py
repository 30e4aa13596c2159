"""The largest call of each project that had room in its day and in its month, by what it needed at the least.

Where a call that is hardly larger has no room any more, the budget is reached, however much of it is left: what the
project asks for does not fit into that. The disk has it too, so that a start anew forgets nothing.
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


class Size(NamedTuple):
    tokens: int = 0
    money: int = 0


class Sizes:
    def __init__(self, write: Callable[[Work], None]) -> None:
        self._write = write
        self._largest: dict[tuple[str, Period], tuple[str, Size]] = {}
        """Of the latest day and month of each project, with their names."""

    async def read(self, disk: Disk) -> None:
        """Raises DiskError."""
        for project, hour, tokens, money in await disk.do(_read):
            self._remember(project, hour, Size(tokens, money))

    def note(self, project: str, hour: int, size: Size) -> None:
        if self._remember(project, hour, size):
            self._write(_insert(project, hour, size))

    def _remember(self, project: str, hour: int, size: Size) -> bool:
        """Whether it is larger than others, in tokens or in money."""
        is_larger = False
        for period in Period:
            name = name_of(period, hour)
            latest, before = self._largest.get((project, period), ("", Size()))
            if name > latest:
                before = Size()
            largest = Size(max(before.tokens, size.tokens), max(before.money, size.money))
            if name >= latest and largest != before:
                self._largest[project, period] = name, largest
                is_larger = True
        return is_larger

    def largest(self, project: str, period: Period, hour: int) -> Size:
        name, size = self._largest.get((project, period), ("", Size()))
        return size if name == name_of(period, hour) else Size()


def _read(connection: sqlite3.Connection) -> list[tuple[str, int, int, int]]:
    return connection.execute("SELECT project, hour, tokens, money FROM sizes").fetchall()


def _insert(project: str, hour: int, size: Size) -> Work:
    def work(connection: sqlite3.Connection) -> None:
        connection.execute(_NOTE, (project, hour, *(min(each, MOST) for each in size)))

    return work
