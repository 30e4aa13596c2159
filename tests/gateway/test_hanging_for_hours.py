"""While the disk hangs for hours, memory stays flat, and all that ends meanwhile counts once the disk answers."""

import asyncio
import gc
import threading
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from gateway.budgets import disk as disk_module
from gateway.budgets import ledger as ledger_module
from gateway.budgets.disk_errors import DiskError
from gateway.budgets.ledger import Ledger
from gateway.budgets.writing.task_queue import MOST_WAITING
from gateway.entries.entry import Budget, Entry
from gateway.meters.usage import Usage
from gateway.proofs import Fact
from gateway.rules.refusals import RefusedError

from tests.gateway.disk_faults import Service
from tests.gateway.test_ledger import Clock, run
from tests.sampling import Some

pytestmark = pytest.mark.one_database

CALLS, IN_A_SAMPLE = 100_000, 10_000
ROUND = 500
FREE, LIMITED = Entry("free"), Entry("limited", budget=Budget(day_tokens=10**7))
MODELS = ("m", "n", "o")


class Hours:
    """Ordinary life, in which calls end although nothing is written."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self.ledger, self.clock = ledger, clock
        self.sold, self.sent, self.rounds = Counter[str](), 0, 0

    async def call(self, entry: Entry, model: str) -> None:
        try:
            reservation = await self.ledger.reserve(entry, model, input_tokens=5, min_output=1, max_output=20)
        except RefusedError:
            return
        self.ledger.settle(reservation, Usage(5, 9), entry=entry)
        self.sold[entry.project] += 14

    async def look(self) -> None:
        with pytest.raises(DiskError):
            await self.ledger.read_since(0)

    async def live(self, calls: int) -> None:
        for _ in range(0, calls, ROUND):
            self.rounds += 1
            for number in range(ROUND - 20):
                await self.call(FREE, MODELS[number % 3])
            await asyncio.gather(self.look(), *(self.call(LIMITED, MODELS[number % 3]) for number in range(20)))
            for project in ("free", "limited"):
                self.ledger.messages.count(project)
                self.sent += 1
                self.ledger.refusals.keep(project, Fact.KEY, self.clock())
                self.ledger.refusals.drop(project, [Fact.CREDIT, Fact.KEY])
            self.ledger.messages.flush()
            if not self.rounds % 20:
                self.clock.now += timedelta(hours=1)


def count_objects(ledger: Ledger) -> int:
    assert len(ledger._disk._queue._waiting) <= 2 * MOST_WAITING
    gc.collect()
    return len(gc.get_objects())


def test_memory_stays_flat_and_everything_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, some: Some) -> None:
    calls = CALLS if some.is_whole else IN_A_SAMPLE
    busy, service, clock = threading.Event(), Service(), Clock(2026, 11, 30, 12)

    async def test(ledger: Ledger) -> None:
        life = Hours(ledger, clock)
        for _ in range(20):
            await life.call(LIMITED, "m")
        for module, name in (
            (disk_module, "HANGS_AFTER"),
            (disk_module, "READ_WITHIN"),
            (ledger_module, "DISK_WITHIN"),
        ):
            monkeypatch.setattr(module, name, 0.001)
        ledger._disk.submit(lambda _: busy.wait(600))
        try:
            await life.live(calls // 5)
            before = count_objects(ledger)
            await life.live(calls - calls // 5)
            assert count_objects(ledger) < before + 5000
        finally:
            busy.set()
        monkeypatch.undo()
        ledger.close()
        await ledger._disk.run(lambda _: None)
        await service.read(ledger)
        for project, sold in life.sold.items():
            assert service.sum(project, "input", "output") == sold
        assert service.sum("free", "messages") + service.sum("limited", "messages") == life.sent
        left = "SELECT project FROM reservations UNION ALL SELECT project FROM advances WHERE tokens OR money"
        assert not await ledger._disk.run(lambda connection: connection.execute(left).fetchall())

    run(tmp_path, clock, test)
