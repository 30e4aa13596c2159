"""Advances: amounts reserved on disk for future calls, so that these calls need not wait for the disk.

An advance covers a call on disk until the call's own reservation is written. Every change on disk is a difference, so
the order of the changes does not matter.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from gateway.budgets.changes import ChangeAdvance, Insert, Reservation
from gateway.budgets.disk import Disk
from gateway.budgets.totals import Totals
from gateway.entries.entry import Entry

SHARE = 50
"""An advance is at most a fiftieth of the budget. The owner loses no more than that if the process is killed."""
MIN_CALLS = 2
"""An advance is enough for this many calls like the last one, or for all calls of one second if there are more. So
calls rarely wait for a busy disk, and `SHARE` still limits the loss."""


@dataclass(slots=True)
class Advance:
    hour: int
    tokens: int = 0
    money: int = 0
    is_growing: bool = False
    second: int = 0
    calls: int = 0
    calls_before: int = 0
    """The number of calls in this second (`calls`) and in the second before it."""

    def count(self, second: int) -> int:
        """Counts a call. Returns the number of calls that the advance should cover."""
        if second != self.second:
            self.calls_before = self.calls if second == self.second + 1 else 0
            self.second, self.calls = second, 0
        self.calls += 1
        return max(MIN_CALLS, self.calls, self.calls_before)


class Advances:
    def __init__(self, disk: Disk, totals: Totals, on_growth: Callable[[str], None]) -> None:
        """Calls `on_growth` with each project whose advance has grown and could be released again."""
        self._on_growth = on_growth
        self._disk = disk
        self._totals = totals
        self._advances: dict[str, Advance] = {}
        self._growing: list[ChangeAdvance] = []
        """What is on its way to the disk."""

    def draw(self, reservation: Reservation) -> bool:
        """Covers the call from the advance, so that it need not wait. Returns False if the advance is too small."""
        advance = self._current(reservation.project, reservation.hour)
        if advance.tokens < reservation.tokens or advance.money < reservation.money or not reservation.tokens:
            return False
        self._shrink(reservation.project, advance, reservation.tokens, reservation.money)
        self._disk.keep(Insert(reservation, is_drawn=True), can_wait=True)
        return True

    def release(self, project: str) -> bool:
        """Releases the rest of the advance. Returns whether there was any."""
        advance = self._advances.get(project)
        if advance is None or not (advance.tokens or advance.money):
            return False
        tokens, money = advance.tokens, advance.money
        self._shrink(project, advance, tokens, money)
        self._disk.keep(ChangeAdvance(project, advance.hour, -tokens, -money), can_wait=True)
        return True

    def release_all(self) -> None:
        """Releases also what is on its way to the disk: when it arrives, the process may have ended."""
        for project in self._advances:
            self.release(project)
        growing, self._growing = self._growing, []
        for growth in growing:
            self._disk.keep(replace(growth, tokens=-growth.tokens, money=-growth.money))

    def grow(self, reservation: Reservation, entry: Entry, *, second: int) -> None:
        """Reserves in the background what the next calls will need, judged by this one, if the budget is large."""
        project, hour, budget = reservation.project, reservation.hour, entry.budget
        advance, loop = self._current(project, hour), asyncio.get_running_loop()
        calls = advance.count(second)
        if advance.is_growing or not reservation.tokens or self._disk.trouble:
            return
        most = _share(budget.day_tokens, budget.month_tokens), _share(budget.day_money, budget.month_money)
        wanted = reservation.tokens, reservation.money
        target = [min(calls * want, each) for want, each in zip(wanted, most, strict=True)]
        if target[0] < wanted[0] or target[1] < wanted[1]:
            return  # the advance would be too small for a call like this one
        tokens, money = max(0, target[0] - advance.tokens), max(0, target[1] - advance.money)
        if not (tokens or money) or not self._totals.has_room(entry, hour, tokens=tokens, money=money):
            return
        advance.is_growing = True
        self._totals.reserve(project, hour, tokens=tokens, money=money)
        growth = ChangeAdvance(project, hour, tokens, money)
        self._growing.append(growth)
        written = self._disk.submit(growth, can_wait=True)

        def report(done: Future[Any]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._finish_growth, growth, advance, done.exception() is None)

        written.add_done_callback(report)

    def _finish_growth(self, growth: ChangeAdvance, advance: Advance, is_written: bool) -> None:  # noqa: FBT001 - call_soon_threadsafe takes no keywords
        advance.is_growing = False
        project, tokens, money = growth.project, growth.tokens, growth.money
        is_released = growth not in self._growing
        if not is_released:
            self._growing.remove(growth)
        if is_released or not is_written:
            self._totals.reserve(project, advance.hour, tokens=-tokens, money=-money)
            return
        advance.tokens += tokens
        advance.money += money
        if self._advances.get(project) is not advance:  # its hour is over
            self._shrink(project, advance, tokens, money)
            self._disk.keep(ChangeAdvance(project, advance.hour, -tokens, -money), can_wait=True)
        self._on_growth(project)

    def _current(self, project: str, hour: int) -> Advance:
        """Returns the advance for this hour, and releases an advance from an earlier hour."""
        advance = self._advances.get(project)
        if advance is None or advance.hour != hour:
            self.release(project)
            advance = self._advances[project] = Advance(hour)
        return advance

    def _shrink(self, project: str, advance: Advance, tokens: int, money: int) -> None:
        advance.tokens -= tokens
        advance.money -= money
        self._totals.reserve(project, advance.hour, tokens=-tokens, money=-money)


def _share(*limits: int | None) -> int:
    return min((limit // SHARE for limit in limits if limit is not None), default=2**53)
