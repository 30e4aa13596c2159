"""A commit that fails may be made all the same. Whatever became of it, each change is made once."""

import asyncio
import random
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from gateway.budgets import disk as disk_module
from gateway.budgets import ledger as ledger_module
from gateway.budgets.changes import Cell, ChangeAdvance, Counts, Extend, Insert, Reservation, Settle
from gateway.budgets.disk_errors import DiskError
from gateway.budgets.ledger import Ledger
from gateway.budgets.tasks import Work

from tests.gateway.disk_faults import Service
from tests.gateway.test_disk_faults import BUDGET, HOUR, NOW, Life
from tests.gateway.test_ledger import run

pytestmark = pytest.mark.one_database

FAILED_SYNC, CANNOT_OPEN = 1034, 14
"""SQLite's codes for a log that could not be synchronized, and for a file that could not be opened."""


class Uncertain:
    """Commits fail as planned: `made` all the same, or `lost`. While `is_shut`, no file can be opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.plan: list[str] = []
        self.is_shut = False
        monkeypatch.setattr(disk_module, "RETRY_AFTER", 0.005)
        monkeypatch.setattr(ledger_module, "DISK_WITHIN", 0.05)
        connect, made = sqlite3.connect, self._make_class()

        def open_it(*args: Any, **options: Any) -> Any:
            if self.is_shut:
                raise self._error(CANNOT_OPEN)
            return connect(*args, factory=made, **options)

        monkeypatch.setattr("gateway.budgets.usage_file.sqlite3.connect", open_it)

    @staticmethod
    def _error(code: int) -> sqlite3.OperationalError:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = code
        return error

    def _make_class(self) -> type[sqlite3.Connection]:
        plan, error = self.plan, self._error

        class Connection(sqlite3.Connection):
            def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
                outcome = plan.pop(0) if sql == "COMMIT" and plan else ""
                found = super().execute("ROLLBACK" if outcome == "lost" else sql, *rest)
                if outcome in ("lost", "made"):
                    raise error(FAILED_SYNC)
                return found

        return Connection


async def works(ledger: Ledger) -> None:
    async with asyncio.timeout(30):
        while ledger.stores.trouble:
            await asyncio.sleep(0.001)


def reservation(number: int) -> Reservation:
    return Reservation(number, "p", HOUR, "m", 5, 10, 7)


CHANGES: dict[str, list[Work]] = {
    "usage": [Settle((), {Cell("p", HOUR, "m"): Counts(requests=1, input=5, output=3, money=2)})],
    "messages": [Settle((), {Cell("p", HOUR, ""): Counts(messages=1)})],
    "a call that began before": [Settle((900,), {Cell("p", HOUR, "m"): Counts(requests=1, output=10)})],
    "an advance": [ChangeAdvance("p", HOUR, 100, 50)],
    "an advance that is released": [ChangeAdvance("p", HOUR, 100, 50), ChangeAdvance("p", HOUR, -40, -20)],
    "a call on an advance": [ChangeAdvance("p", HOUR, 100, 50), Insert(reservation(901), is_drawn=True)],
    "a longer answer": [Extend(Reservation(900, "p", HOUR, "m", 5, 30, 9))],
    "a whole call": [Insert(reservation(902)), Settle((902,), {Cell("p", HOUR, "m"): Counts(output=4)})],
}


def nothing(_: Path) -> None: ...


def overwrite(folder: Path) -> None:
    (folder / "usage.sqlite3").write_bytes(b"no database at all" * 1000)


def remove(folder: Path) -> None:
    for each in folder.glob("usage.sqlite3*"):
        each.unlink()


PLANS = [list(plan) for length in (1, 2, 3) for plan in product(("made", "lost"), repeat=length)]


def tables(connection: sqlite3.Connection) -> list[list[Any]]:
    return [
        connection.execute("SELECT * FROM reservations ORDER BY id").fetchall(),
        connection.execute("SELECT * FROM advances WHERE tokens OR money").fetchall(),
        connection.execute(
            "SELECT model, sum(messages), sum(requests), sum(input + output), sum(money) FROM usage GROUP BY model"
        ).fetchall(),
    ]


async def make(ledger: Ledger, changes: list[Work]) -> None:
    disk = ledger._disk
    disk.keep(Insert(reservation(900)))
    await disk.run(lambda _: None)
    for each in changes:
        disk.keep(each)


@pytest.mark.sampled(40)
@pytest.mark.parametrize("between", [nothing, overwrite, remove])
@pytest.mark.parametrize("more", [0, 600], ids=["alone", "with many"])
@pytest.mark.parametrize("plan", PLANS, ids="-".join)
@pytest.mark.parametrize("change", CHANGES)
def test_each_change_is_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, plan: list[str], more: int,
    between: Callable[[Path], None],
) -> None:  # fmt: skip
    """`more` changes come meanwhile, and are merged."""
    one = Settle((), {Cell("q", HOUR, "other"): Counts(messages=1)})

    async def expected(ledger: Ledger) -> Any:
        await make(ledger, CHANGES[change] + [one] * more)
        return await ledger._disk.run(tables)

    async def test(ledger: Ledger) -> Any:
        await ledger._disk.run(lambda _: None)
        await make(ledger, [])
        uncertain.plan += plan
        uncertain.is_shut = True
        for each in CHANGES[change]:
            ledger._disk.keep(each)
        async with asyncio.timeout(30):
            while not ledger._disk.trouble:
                await asyncio.sleep(0.001)
        for _ in range(more):
            ledger._disk.keep(one)
        between(tmp_path / "two")
        uncertain.is_shut = False
        while uncertain.plan:
            with suppress(DiskError):
                await ledger._disk.run(lambda _: None)
        await works(ledger)
        return await ledger._disk.run(tables)

    right = run(tmp_path / "one", NOW, expected)
    uncertain = Uncertain(monkeypatch)
    assert run(tmp_path / "two", NOW, test) == right


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(12))
def test_no_count_is_lost_or_doubled_and_nothing_stays_reserved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance, service, uncertain = random.Random(seed), Service(), Uncertain(monkeypatch)
    left = "SELECT project FROM reservations UNION ALL SELECT project FROM advances WHERE tokens OR money"

    async def test(ledger: Ledger) -> None:
        life = Life(ledger, str(seed), service)
        await life.live(5)
        for _ in range(4):
            uncertain.plan += chance.choices(["made", "lost", "well"], k=chance.randrange(8))
            uncertain.is_shut = chance.random() < 0.4
            await life.live(chance.randrange(1, 5))
            if chance.random() < 0.3:
                uncertain.is_shut = False
                await works(ledger)
                await service.read(ledger)
        uncertain.is_shut = False
        uncertain.plan.clear()
        monkeypatch.setattr(ledger_module, "DISK_WITHIN", 10.0)
        await life.recover()
        for project, sold in life.sold.items():
            assert service.sum(project, "input", "output") == sold, project
        assert service.sum("free", "messages") == life.sent
        assert not await ledger._disk.run(lambda connection: connection.execute(left).fetchall())
        await life.use_up()
        assert life.sold["limited"] <= BUDGET

    run(tmp_path, NOW, test)
