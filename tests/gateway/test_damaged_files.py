"""A usage file that is damaged costs at most a little of the owner's budget, and never more."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from gateway.budgets.disk_errors import DiskError
from gateway.budgets.ledger import Ledger
from gateway.budgets.usage_file import read_meta
from gateway.entries.entry import Budget, Entry
from gateway.meters.usage import Usage
from gateway.periods import Period, hour_of, name_of
from gateway.rules.refusals import RefusedError, Why

from tests.gateway.disk_faults import Service
from tests.gateway.test_ledger import Clock, run

pytestmark = pytest.mark.one_database

NOW = Clock(2026, 11, 22)
DAY = name_of(Period.DAY, hour_of(NOW()))
LIMIT = 1000


def entry(service: Service | None = None) -> Entry:
    spent = service.spent("p", hour_of(NOW())) if service else ()
    return Entry("p", budget=Budget(day_tokens=LIMIT), spent=spent)


async def spend(ledger: Ledger, tokens: int, one: Entry) -> None:
    reservation = await ledger.reserve(one, "m", input_tokens=0, min_output=tokens, max_output=tokens)
    ledger.settle(reservation, Usage(0, tokens), entry=one)


async def spend_all(ledger: Ledger, one: Entry) -> int:
    """Returns how many tokens are left of the budget, and uses them."""
    left = 0
    while True:
        try:
            await spend(ledger, 10, one)
        except RefusedError as error:
            if error.why in (Why.QUOTA, Why.TOO_LARGE):
                return left
            if error.why is not Why.RATE:
                raise
        else:
            left += 10


async def set_aside(ledger: Ledger) -> None:
    """In the disk's thread, which alone may use the file."""
    await ledger._disk.run(lambda _: ledger._disk.usage_file.set_aside(ValueError()), is_read=True)


def checkpoint(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0


def overwrite(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.write(b"no database at all" * 1000)


def garble_pages(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.seek(4096)
        opened.write(bytes([255]) * (file.stat().st_size - 4096))


def empty(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.truncate(0)


def remove(file: Path) -> None:
    for each in file.parent.glob(f"{file.name}*"):
        each.unlink()


def remove_log(file: Path) -> None:
    file.with_name(f"{file.name}-wal").unlink()


def put_another_in_its_place(file: Path) -> None:
    other = file.with_name("other")
    shutil.copy(file, other)
    other.replace(file)


@pytest.mark.parametrize("damage", [overwrite, garble_pages, empty, remove, remove_log, put_another_in_its_place])
@pytest.mark.parametrize("is_read", [True, False], ids=["read", "unread"])
def test_a_file_that_is_damaged_meanwhile_is_written_again(
    tmp_path: Path, damage: Callable[[Path], None], *, is_read: bool
) -> None:
    service = Service()

    async def test(ledger: Ledger) -> None:
        await spend(ledger, 300, entry())
        in_flight = await ledger.reserve(entry(), "m", input_tokens=0, min_output=50, max_output=50)
        await service.read(ledger)
        if is_read:
            await service.read(ledger)
        await ledger._disk.run(lambda _: None)
        await asyncio.to_thread(checkpoint, tmp_path / "usage.sqlite3")
        await asyncio.to_thread(damage, tmp_path / "usage.sqlite3")
        with suppress(DiskError):
            await ledger._disk.run(lambda connection: connection.execute("PRAGMA shrink_memory"), is_read=True)
        store = service.store
        async with asyncio.timeout(30):
            while service.store == store:
                with suppress(DiskError, RefusedError):  # either may notice it first
                    await spend(ledger, 10, entry(service))
                    await service.read(ledger)
        ledger.settle(in_flight, Usage(0, 50), entry=entry())
        await spend_all(ledger, entry(service))
        ledger.close()
        await service.read(ledger)
        assert await ledger._disk.run(lambda connection: read_meta(connection, "read")), "The next process knows."

    run(tmp_path, NOW, test)
    assert (tmp_path / "usage.sqlite3.torn").exists() == (damage is not remove)
    counted, exact = service.sum("p", "input", "output"), LIMIT
    assert counted == exact if is_read else exact <= counted <= exact + 300
    assert counted == exact or service.sum("p", "estimated")

    async def look(ledger: Ledger) -> None:
        with pytest.raises(RefusedError) as refused:
            await spend(ledger, 10, entry())
        assert refused.value.why is Why.LATER
        assert await spend_all(ledger, entry(service)) == 0

    run(tmp_path, NOW, look)


def test_a_call_in_flight_while_the_file_is_damaged_counts_in_full_after_a_kill(tmp_path: Path) -> None:
    service = Service()

    async def lose(ledger: Ledger) -> None:
        await service.read(ledger)
        await ledger.reserve(entry(), "m", input_tokens=0, min_output=400, max_output=400)
        await ledger._disk.run(lambda _: None)
        await set_aside(ledger)
        await ledger._disk.run(lambda _: None)

    async def look(ledger: Ledger) -> int:
        await service.read(ledger)
        return await spend_all(ledger, entry(service))

    run(tmp_path, NOW, lose)
    assert run(tmp_path, NOW, look) == 600


@pytest.mark.parametrize("damage", [overwrite, empty, remove, remove_log, put_another_in_its_place])
def test_a_file_that_is_damaged_before_the_service_has_ever_read_it_loses_nothing(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """Neither what this process has counted nor what the one before it has."""

    async def use(ledger: Ledger) -> None:
        await spend(ledger, 100, entry())
        ledger.close()

    async def lose(ledger: Ledger) -> None:
        await spend(ledger, 30, entry())
        await ledger._disk.run(lambda _: None)
        await asyncio.to_thread(checkpoint, tmp_path / "usage.sqlite3")
        await asyncio.to_thread(damage, tmp_path / "usage.sqlite3")
        with suppress(DiskError):
            await ledger._disk.run(lambda connection: connection.execute("PRAGMA shrink_memory"), is_read=True)
            await ledger.read_since(0)

    async def look(ledger: Ledger) -> int:
        service = Service()
        await service.read(ledger)
        return service.sum("p", "output")

    for _ in range(2):
        run(tmp_path, NOW, use)
    run(tmp_path, NOW, lose)
    assert run(tmp_path, NOW, look) == 230
