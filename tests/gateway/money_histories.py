"""Histories of calls, faults, clocks, budgets and processes that end in any way, with an oracle of what was sold.

The provider sells what a call uses, and all that is reserved to calls that are in flight when a process is killed.
"""

import asyncio
import random
import shutil
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.budgets.changes import Reservation
from gateway.budgets.disk import Disk
from gateway.budgets.ledger import Ledger
from gateway.budgets.tasks import Task
from gateway.entries.entry import Budget, Entry
from gateway.entries.spent import Spent
from gateway.meters.usage import Usage
from gateway.periods import Period, hour_of, name_of
from gateway.rules.refusals import RefusedError

from tests.gateway.disk_faults import Faults, Service

DAY = 86_400.0
BEGIN = 1_795_348_000.0
"""A moment in November 2026."""
LIMITED = ("a", "b")
Step = Callable[["History", Ledger], Awaitable[None]]


class Reader(Service):
    """The service, which tells what was spent in days and months."""

    def spent(self, project: str, hour: int) -> tuple[Spent, ...]:
        names = [name_of(period, hour) for period in Period]
        found = Counter({(self.store, name): 0 for name in names if self.store})
        for (store, whose, at, _), row in self.rows.items():
            for name in (name_of(period, at) for period in Period):
                if whose == project and name in names:
                    found[store, name] += row["input"] + row["output"]
        return tuple(Spent(store, name, tokens, 0) for (store, name), tokens in found.items())


@dataclass
class Call:
    """A call in flight."""

    ledger: Ledger
    entry: Entry
    reservation: Reservation

    @property
    def places(self) -> list[tuple[str, str]]:
        return [(self.entry.project, name_of(period, self.reservation.hour)) for period in Period]


class History:
    def __init__(self, seed: str, folder: Path, faults: Faults) -> None:
        self.chance = random.Random(seed)
        self.now = BEGIN + self.chance.randrange(40 * 24) * 3600.0
        self.faults, self.reader = faults, Reader()
        self.budgets = {"a": Budget(day_tokens=2000, month_tokens=6000), "b": Budget(day_tokens=400)}
        self.sold, self.sold_in_all = Counter[tuple[str, str]](), Counter[str]()
        self.calls: list[Call] = []
        self.is_exact = True
        self._folder = folder
        self._told: dict[str, tuple[Spent, ...]] = {}
        self._processes = 0

    @property
    def folder(self) -> Path:
        return self._folder / str(self._processes)

    def tell(self) -> None:
        """Sends the entries again."""
        self._told = {project: self.reader.spent(project, hour_of(self.now)) for project in LIMITED}

    def entry(self, project: str) -> Entry:
        return Entry(project, budget=self.budgets.get(project, Budget()), spent=self._told.get(project, ()))

    def check(self, call: Call, budget: Budget) -> None:
        """`budget` is the one with which the call began. It may have changed meanwhile."""
        now = self.budgets.get(call.entry.project, Budget())
        limits = [(budget.day_tokens, now.day_tokens), (budget.month_tokens, now.month_tokens)]
        for place, (before, after) in zip(call.places, limits, strict=True):
            held = sum(each.reservation.tokens for each in self.calls if place in each.places)
            if before is not None and after is not None:
                assert self.sold[place] + held <= max(before, after), f"{place} is overspent"

    async def call(self, ledger: Ledger, project: str = "") -> Call | None:
        entry = self.entry(project or self.chance.choice([*LIMITED, "a", "free"]))
        given, most = self.chance.randrange(30), self.chance.randrange(1, 120)
        try:
            reservation = await ledger.reserve(entry, "m", input_tokens=given, min_output=1, max_output=most)
        except RefusedError:
            return None
        self.calls.append(call := Call(ledger, entry, reservation))
        self.check(call, entry.budget)
        return call

    def settle(self, call: Call) -> None:
        self.calls.remove(call)
        used = self.chance.choice([call.reservation.tokens, self.chance.randrange(call.reservation.tokens + 1)])
        output = min(used, call.reservation.output)
        self._sell(call, used)
        call.ledger.settle(call.reservation, Usage(used - output, output), entry=call.entry)

    def _sell(self, call: Call, tokens: int) -> None:
        for place in call.places:
            self.sold[place] += tokens
        self.sold_in_all[call.entry.project] += tokens

    async def kill(self, ledger: Ledger) -> None:
        """Nothing happens while the disk is copied as it is. What was not submitted is lost."""
        copied: Future[Any] = Future()
        before, self._processes = self.folder, self._processes + 1
        ledger._disk._queue._collected.clear()
        ledger._disk._queue.put(Task(lambda _: shutil.copytree(before, self.folder), copied, is_read=True))
        copied.result(60)
        for call in self.calls:
            self._sell(call, call.reservation.tokens)
        self.calls.clear()
        self.is_exact = False

    async def stop(self, ledger: Ledger) -> None:
        self.faults.end()
        for call in self.calls[:]:
            self.settle(call)
        async with asyncio.timeout(60):
            while ledger.stores.trouble:
                await asyncio.sleep(0.001)
        ledger.close()
        left = "SELECT project FROM reservations UNION ALL SELECT project FROM advances WHERE tokens OR money"
        assert not await ledger._disk.run(lambda connection: connection.execute(left).fetchall())

    async def live(self, steps: list[Step], *, is_killed: bool) -> None:
        disk = Disk(self.folder / "usage.sqlite3")
        ledger = Ledger(disk, lambda: self.now, patience=0.01, has_entries=self._processes > 0)
        try:
            await ledger.open()
            for _ in range(self.chance.randrange(10, 40)):
                await self.chance.choice(steps)(self, ledger)
            await (self.kill if is_killed else self.stop)(ledger)
        finally:
            self.faults.end()
            await asyncio.to_thread(disk.close)

    async def count(self) -> None:
        """Compares what the service counts in the end with what was sold."""
        disk = Disk(self.folder / "usage.sqlite3")
        ledger = Ledger(disk, lambda: self.now, has_entries=True)
        try:
            await ledger.open()
            await self.reader.read(ledger)
        finally:
            await asyncio.to_thread(disk.close)
        for project in LIMITED:
            counted, sold = self.reader.sum(project, "input", "output"), self.sold_in_all[project]
            assert counted == sold if self.is_exact else counted >= sold, f"{project}: {counted} of {sold}"


async def call(history: History, ledger: Ledger) -> None:
    await history.call(ledger)


async def many(history: History, ledger: Ledger) -> None:
    await asyncio.gather(*(history.call(ledger) for _ in range(6)))


async def settle(history: History, _: Ledger) -> None:
    if history.calls:
        history.settle(history.chance.choice(history.calls))


async def cancel(history: History, ledger: Ledger) -> None:
    asking = asyncio.ensure_future(history.call(ledger, "b"))
    for _ in range(history.chance.randrange(4)):
        await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait({asking})
