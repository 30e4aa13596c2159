"""Rows of hours that are long over are deleted, but none that is not read or only looks old."""

from datetime import timedelta
from pathlib import Path

import pytest
from gateway.budgets import old_rows
from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Entry
from gateway.meters.usage import Usage

from tests.gateway.disk_faults import Service
from tests.gateway.test_ledger import Clock, run

pytestmark = pytest.mark.one_database

FREE = Entry("p")
FAR = timedelta(days=90)


async def spend(ledger: Ledger, tokens: int) -> None:
    reservation = await ledger.reserve(FREE, "m", input_tokens=0, min_output=tokens, max_output=tokens)
    ledger.settle(reservation, Usage(0, tokens), entry=FREE)


async def count_rows(ledger: Ledger) -> int:
    rows = await ledger._disk.run(lambda connection: connection.execute("SELECT 1 FROM usage").fetchall())
    return len(rows)


@pytest.mark.parametrize("is_read", [True, False], ids=["read", "unread"])
def test_old_rows_are_deleted_once_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_read: bool
) -> None:
    monkeypatch.setattr(old_rows, "TRUSTED_AFTER", 0.0)
    clock, service = Clock(2026, 11, 22), Service()

    async def test(ledger: Ledger) -> None:
        await spend(ledger, 1)
        if is_read:
            await service.read(ledger)
            await ledger.read_since(service.seq, service.store)
        for _ in range(3):
            clock.now += FAR
            for _ in range(2):
                await spend(ledger, 1)
        assert await count_rows(ledger) == (3 if is_read else 4)
        await service.read(ledger)

    run(tmp_path, clock, test)
    assert service.sum("p", "output") == 7


@pytest.mark.parametrize("when", ["meanwhile", "at the start"])
def test_a_clock_that_is_wrong_for_a_while_loses_no_count(tmp_path: Path, when: str) -> None:
    """A row that is deleted and counted in again would replace the larger one that the service has."""
    clock, service = Clock(2026, 11, 22), Service()

    async def use(ledger: Ledger) -> None:
        await spend(ledger, 5)
        await service.read(ledger)
        await ledger.read_since(service.seq, service.store)
        if when == "meanwhile":
            clock.now += FAR
            for _ in range(3):
                await spend(ledger, 1)
        clock.now = Clock(2026, 11, 22).now
        await spend(ledger, 7)
        await service.read(ledger)
        clock.now += FAR if when == "at the start" else timedelta()

    for _ in range(2):
        run(tmp_path, clock, use)
    assert service.sum("p", "output") == 2 * (12 + (3 if when == "meanwhile" else 0))
