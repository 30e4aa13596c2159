"""What is remembered of the usage file, so that it can be written again, is complete, and takes little memory."""

import asyncio
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest
from gateway.budgets import mirror, recent_sizes, stores
from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Entry

from tests.gateway.disk_faults import Service
from tests.gateway.test_damaged_files import NOW, entry, set_aside, spend
from tests.gateway.test_ledger import Clock, run

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize("most", [1, 2, 10_000])
def test_usage_that_is_read_again_and_again_but_never_stored_takes_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(mirror, "MOST_CELLS", most)
    service = Service()

    async def test(ledger: Ledger) -> int:
        for _ in range(100):
            await spend(ledger, 1, Entry("p"))
            await spend(ledger, 1, Entry("q"))
            await ledger.read_since(service.seq, service.store)
            service.store = ledger._totals.stores[-1]
        known = ledger._disk._mirror
        remembered = len(known._unread) + sum(len(cells) for _, cells in known._shown)
        await set_aside(ledger)
        await ledger._disk.run(lambda _: None)
        await service.read(ledger)
        return remembered

    assert run(tmp_path, NOW, test) <= 2 * (mirror.MOST_SHOWN + 1)
    assert service.sum("p", "output") == service.sum("q", "output") == 100


def test_a_start_that_succeeds_at_the_second_try_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service, real, tries = Service(), recent_sizes._read, 0
    monkeypatch.setattr(stores, "OPEN_AGAIN_AFTER", 0.0)

    def fail_once(connection: sqlite3.Connection) -> object:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise sqlite3.OperationalError
        return real(connection)

    async def leave(ledger: Ledger) -> None:
        await spend(ledger, 30, entry())

    async def test(ledger: Ledger) -> None:
        while not ledger.stores.is_open:
            await asyncio.sleep(0)
        await set_aside(ledger)
        await ledger._disk.run(lambda _: None)
        await service.read(ledger)

    run(tmp_path, NOW, leave)
    monkeypatch.setattr(recent_sizes, "_read", fail_once)
    run(tmp_path, NOW, test)
    assert (tries, service.sum("p", "output")) == (2, 30)


def test_usage_that_nobody_reads_for_long_takes_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "MOST_CELLS", 10)
    service, clock = Service(), Clock(2026, 11, 20)

    async def test(ledger: Ledger) -> int:
        for _ in range(60):
            await spend(ledger, 1, Entry("p"))
            clock.now += timedelta(hours=1)
        await ledger._disk.run(lambda _: None)
        remembered = len(ledger._disk._mirror._unread)
        await set_aside(ledger)
        await ledger._disk.run(lambda _: None)
        await service.read(ledger)
        return remembered

    assert run(tmp_path, clock, test) <= 10, "Of sixty hours, at most ten are remembered one by one."
    assert service.sum("p", "output") == 60
