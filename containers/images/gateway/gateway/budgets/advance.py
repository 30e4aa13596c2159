"""Advances: reserved on the disk for calls that have not come yet, so that these need not wait for the disk.

A call that draws on an advance is covered on the disk by the advance until its own reservation is written. All changes
on the disk are differences, so that their order among each other does not matter.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from gateway.budgets import rows
from gateway.budgets.disk import Disk
from gateway.budgets.rows import Reservation
from gateway.budgets.totals import Totals
from gateway.entries.entry import Entry

SHARE = 50
"""An advance is at the most a fiftieth of the budget: that much the loss of the process can cost the owner."""
CALLS = 2
"""For how many calls like the last one an advance is at least: otherwise for as many as have come in a second. A disk
that has other things to do takes less, and the loss of the process costs no more."""


@dataclass(slots=True)
class Advance:
    hour: int
    tokens: int = 0
    money: int = 0
    is_growing: bool = False
    second: int = 0
    calls: int = 0
    calls_before: int = 0
    """Those that came in this second, and in the one before it."""

    def count(self, second: int) -> int:
        """Counts a call. Returns for how many the advance is to be."""
        if second != self.second:
            self.calls_before = self.calls if second == self.second + 1 else 0
            self.second, self.calls = second, 0
        self.calls += 1
        return max(CALLS, self.calls, self.calls_before)


class Advances:
    def __init__(self, disk: Disk, totals: Totals, grown: Callable[[str], None]) -> None:
        """`grown` is told of each project whose advance has grown, and may be taken back."""
        self._grown = grown
        self._disk = disk
        self._totals = totals
        self._advances: dict[str, Advance] = {}

    def draw(self, reservation: Reservation) -> bool:
        """Whether the advance covers the call. It is then that much smaller, and the call needs not wait."""
        advance = self._of(reservation.project, reservation.hour)
        if advance.tokens < reservation.tokens or advance.money < reservation.money or not reservation.tokens:
            return False
        self._shrink(reservation.project, advance, reservation.tokens, reservation.money)
        self._disk.begin(rows.insert_drawn(reservation))
        return True

    def take_back(self, project: str) -> bool:
        """Gives back what is left of the advance. Returns whether anything was."""
        advance = self._advances.get(project)
        if advance is None or not (advance.tokens or advance.money):
            return False
        tokens, money = advance.tokens, advance.money
        self._shrink(project, advance, tokens, money)
        self._disk.begin(rows.change_advance(project, advance.hour, tokens=-tokens, money=-money))
        return True

    def take_all_back(self) -> None:
        for project in self._advances:
            self.take_back(project)

    def grow(self, reservation: Reservation, entry: Entry, *, second: int) -> None:
        """Reserves for the next calls what this one has needed, in the background and where the budget is large."""
        project, hour, budget = reservation.project, reservation.hour, entry.budget
        advance, loop = self._of(project, hour), asyncio.get_running_loop()
        calls = advance.count(second)
        if advance.is_growing or not reservation.tokens:
            return
        most = _share(budget.day_tokens, budget.month_tokens), _share(budget.day_money, budget.month_money)
        wanted = reservation.tokens, reservation.money
        target = [min(calls * want, each) for want, each in zip(wanted, most, strict=True)]
        if target[0] < wanted[0] or target[1] < wanted[1]:
            return  # it would be too small for such a call
        tokens, money = max(0, target[0] - advance.tokens), max(0, target[1] - advance.money)
        if not (tokens or money) or not self._totals.has_room(entry, hour, tokens=tokens, money=money):
            return
        advance.is_growing = True
        self._totals.reserve(project, hour, tokens=tokens, money=money)
        written = self._disk.begin(rows.change_advance(project, hour, tokens=tokens, money=money))

        def tell(done: Future[Any]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._has_grown, project, advance, tokens, money, done.exception() is None)

        written.add_done_callback(tell)

    def _has_grown(self, project: str, advance: Advance, tokens: int, money: int, is_written: bool) -> None:  # noqa: FBT001 - call_soon_threadsafe takes no keywords
        advance.is_growing = False
        if not is_written:
            self._totals.reserve(project, advance.hour, tokens=-tokens, money=-money)
            return
        advance.tokens += tokens
        advance.money += money
        if self._advances.get(project) is not advance:  # its hour is over
            self._shrink(project, advance, tokens, money)
            self._disk.begin(rows.change_advance(project, advance.hour, tokens=-tokens, money=-money))
        self._grown(project)

    def _of(self, project: str, hour: int) -> Advance:
        """The advance of this hour. That of an earlier one is given back."""
        advance = self._advances.get(project)
        if advance is None or advance.hour != hour:
            self.take_back(project)
            advance = self._advances[project] = Advance(hour)
        return advance

    def _shrink(self, project: str, advance: Advance, tokens: int, money: int) -> None:
        advance.tokens -= tokens
        advance.money -= money
        self._totals.reserve(project, advance.hour, tokens=-tokens, money=-money)


def _share(*limits: int | None) -> int:
    return min((limit // SHARE for limit in limits if limit is not None), default=2**53)
