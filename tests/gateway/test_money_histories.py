"""In any history, no budget is overspent, no count is lost, and nothing stays reserved."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from gateway.budgets.disk_errors import DiskError
from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Budget

from tests.gateway.disk_faults import CODES, DAMAGE, STATEMENTS, Faults
from tests.gateway.money_histories import DAY, LIMITED, History, Step, call, cancel, many, settle

pytestmark = pytest.mark.one_database


async def read(history: History, ledger: Ledger) -> None:
    """An answer may get lost, and the entries may be sent later."""
    with suppress(DiskError):
        if history.chance.random() < 0.3:
            await ledger.read_since(history.reader.seq, history.reader.store)
        else:
            await history.reader.read(ledger)
    if history.chance.random() < 0.7:
        history.tell()


async def change_budget(history: History, ledger: Ledger) -> None:
    project, chance = history.chance.choice(LIMITED), history.chance
    history.budgets[project] = Budget(
        day_tokens=chance.choice([0, 100, 400, 1000, 4000]), month_tokens=chance.choice([2000, 8000])
    )
    ledger.change(project, history.entry(project))


async def count_messages(history: History, ledger: Ledger) -> None:
    """In more changes than one transaction takes."""
    for _ in range(300):
        ledger.messages.count("free")
        ledger.messages.flush()


async def set_clock(history: History, _: Ledger) -> None:
    history.now += history.chance.choice([5, 3600, -3600, DAY, -DAY, 31 * DAY, -31 * DAY])
    history.tell()


async def be_months_ahead(history: History, ledger: Ledger) -> None:
    history.now += 90 * DAY
    if one := await history.call(ledger):
        history.settle(one)
    history.now -= 90 * DAY


async def fail(history: History, ledger: Ledger) -> None:
    place, code = (
        history.chance.choice(STATEMENTS),
        history.chance.choice([each for each in CODES if each not in DAMAGE]),
    )
    history.faults.begin(place, code, ledger)


async def damage(history: History, ledger: Ledger) -> None:
    history.faults.begin(history.chance.choice(STATEMENTS), history.chance.choice(DAMAGE), ledger)
    history.is_exact = False


async def remove(history: History, ledger: Ledger) -> None:
    """While the disk works: nothing is left if a process is killed that could not write the file again."""
    history.faults.end()
    with suppress(DiskError):
        await ledger._disk.run(lambda _: None)
    which = history.chance.choice(["usage.sqlite3*", "usage.sqlite3", "usage.sqlite3-wal"])
    for file in history.folder.glob(which):
        file.unlink(missing_ok=True)
    with suppress(DiskError):
        await ledger._disk.run(lambda _: None)
    history.is_exact = False


async def mend(history: History, _: Ledger) -> None:
    history.faults.end()


ORDINARY: list[Step] = [*[call] * 5, *[settle] * 5, many, cancel, read, change_budget, count_messages]
FAMILIES: dict[str, list[Step]] = {
    "calm": [],
    "clocks": [set_clock, be_months_ahead],
    "faults": [fail, fail, mend, set_clock],
    "damage": [damage, mend],
    "removed": [remove],
    "all": [fail, damage, remove, mend, set_clock, be_months_ahead],
}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("can_be_killed", [True, False], ids=["kills", "stops"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.sampled(16)
def test_no_history_overspends_or_loses_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, family: str, seed: int, *, can_be_killed: bool
) -> None:
    history = History(f"{family} {seed} {can_be_killed}", tmp_path, Faults(monkeypatch))
    for _ in range(history.chance.randrange(1, 5)):
        is_killed = can_be_killed and history.chance.random() < 0.5
        asyncio.run(history.live([*ORDINARY, *FAMILIES[family]], is_killed=is_killed))
    asyncio.run(history.count())
