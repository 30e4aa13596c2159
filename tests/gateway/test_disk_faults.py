"""No fault of the disk loses a count or overspends a budget, and when it ends everything works again by itself."""

import asyncio
import random
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from gateway.budgets.disk_errors import DiskError
from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Budget, Entry
from gateway.meters.usage import Usage
from gateway.periods import hour_of
from gateway.rules.refusals import RefusedError, Why

from tests.gateway.disk_faults import CODES, DAMAGE, STATEMENTS, Faults, Service
from tests.gateway.test_ledger import Clock, run

pytestmark = [pytest.mark.one_database, pytest.mark.sampled(16)]

NOW = Clock(2026, 11, 22)
BUDGET = 8_000
HOUR = hour_of(NOW())


class Life:
    """Calls of an agent with a budget and of one without. `sold` is what the provider has sold to each."""

    def __init__(self, ledger: Ledger, seed: str, service: Service) -> None:
        self.ledger, self.service = ledger, service
        self.sold = {"limited": 0, "free": 0}
        self.sent = 0
        self.refused: set[Why] = set()
        self._chance = random.Random(seed)

    def entry(self, project: str) -> Entry:
        budget = Budget(day_tokens=BUDGET) if project == "limited" else Budget()
        return Entry(project, budget=budget, spent=self.service.spent(project, HOUR))

    async def call(self, project: str) -> bool:
        most, entry = self._chance.randrange(5, 60), self.entry(project)
        try:
            reservation = await self.ledger.reserve(entry, "m", input_tokens=5, min_output=1, max_output=most)
        except RefusedError as error:
            self.refused.add(error.why)
            return False
        if self._chance.random() < 0.3:
            with suppress(RefusedError):
                reservation = self.ledger.extend(reservation, entry, by=10)
        await asyncio.sleep(0)
        written = self._chance.randrange(1, reservation.output + 1)
        self.sold[project] += 5 + written
        self.ledger.settle(reservation, Usage(5, written), entry=entry)
        return True

    async def live(self, rounds: int) -> None:
        for _ in range(rounds):
            await asyncio.gather(*(self.call(self._chance.choice(["limited", "free"])) for _ in range(4)))
            self.ledger.messages.count("free")
            self.sent += 1
            await asyncio.sleep(0.001)

    async def recover(self) -> None:
        async with asyncio.timeout(30):
            while self.ledger.stores.trouble:
                await asyncio.sleep(0.005)
            while not await self.call("limited"):
                await asyncio.sleep(0.005)
            self.ledger.close()
            await self.ledger._disk.run(lambda _: None)
            await self.service.read(self.ledger)

    async def use_up(self) -> None:
        """Calls until the budget is reached. A reservation that stays for ever would keep it from that."""
        self.refused.clear()
        async with asyncio.timeout(30):
            while not self.refused & {Why.QUOTA, Why.TOO_LARGE}:
                await self.call("limited")
                await asyncio.sleep(0)
        assert self.refused <= {Why.QUOTA, Why.TOO_LARGE, Why.RATE}


async def look(ledger: Ledger, service: Service) -> None:
    with suppress(DiskError):
        await service.read(ledger)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("place", STATEMENTS)
def test_counts_are_complete_after_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, code: str
) -> None:
    faults, service = Faults(monkeypatch), Service()

    async def test(ledger: Ledger) -> None:
        life = Life(ledger, f"{place} {code}", service)
        await life.live(10)
        await look(ledger, service)
        await life.live(5)
        faults.begin(place, code, ledger)
        await life.live(20)
        await look(ledger, service)
        faults.end()
        await life.recover()
        for project, sold in life.sold.items():
            counted, is_exact = service.sum(project, "input", "output"), code not in DAMAGE
            assert counted == sold if is_exact else counted >= sold
            assert counted == sold or service.sum(project, "estimated")
        assert service.sum("free", "messages") == life.sent if code not in DAMAGE else life.sent
        assert faults.met
        assert life.refused <= {Why.LATER, Why.RATE}
        await life.use_up()
        assert life.sold["limited"] <= BUDGET

    run(tmp_path, NOW, test)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("place", STATEMENTS)
@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "stopped"])
def test_no_budget_is_overspent_by_the_process_after_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, code: str, *, is_killed: bool
) -> None:
    faults, service, sold = Faults(monkeypatch), Service(), 0

    async def fail(ledger: Ledger) -> None:
        nonlocal sold
        life = Life(ledger, f"{place} {code} {is_killed}", service)
        await life.live(10)
        await look(ledger, service)
        faults.begin(place, code, ledger)
        await life.live(10)
        sold = life.sold["limited"]
        if is_killed:
            # In the disk's thread, so that nothing is written meanwhile.
            await ledger._disk.run(lambda _: shutil.copytree(tmp_path / "one", tmp_path / "two"), is_read=True)
        faults.end()

    async def go_on(ledger: Ledger) -> Any:
        await service.read(ledger)
        await ledger.read_since(service.seq, service.store)
        life = Life(ledger, place, service)
        life.sold["limited"] = sold
        await life.use_up()
        return life.sold["limited"]

    run(tmp_path / "one", NOW, fail)
    found = run(tmp_path / ("two" if is_killed else "one"), NOW, go_on)
    assert sold < found <= BUDGET


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("place", ["PRAGMA", "BEGIN", "COMMIT", "SELECT", "DELETE", "INSERT", "UPDATE"])
def test_a_process_that_starts_with_a_fault_goes_on_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, code: str
) -> None:
    faults, service, sold = Faults(monkeypatch), Service(), 0

    async def leave(ledger: Ledger) -> None:
        nonlocal sold
        life = Life(ledger, place, service)
        await life.live(5)
        await ledger.reserve(life.entry("limited"), "m", input_tokens=5, min_output=1, max_output=500)
        sold = life.sold["limited"] + 505
        await service.read(ledger)

    async def start(ledger: Ledger) -> int:
        life = Life(ledger, place, service)
        await look(ledger, service)
        await life.live(3)
        if code not in DAMAGE:
            assert life.sold["limited"] == 0
            assert ledger.stores.trouble
        faults.end()
        async with asyncio.timeout(30):
            while ledger.stores.trouble:
                await asyncio.sleep(0.005)
        await service.read(ledger)
        await life.use_up()
        return life.sold["limited"]

    run(tmp_path, NOW, leave)
    faults.begin_at_start(place, code)
    found = run(tmp_path, NOW, start)
    assert faults.met
    assert 0 < found <= BUDGET - sold, "A damaged file that can be read still tells what was in flight."
