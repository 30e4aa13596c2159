"""A disk that hangs is waited for in the background: nothing but calls under a budget depends on it."""

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from gateway.budgets import disk as disk_module
from gateway.budgets import ledger as ledger_module
from gateway.budgets import stores, usage_file
from gateway.budgets.disk import Disk
from gateway.budgets.disk_errors import DiskError
from gateway.budgets.ledger import Ledger
from gateway.meters.usage import Usage
from gateway.proofs import Fact, Proof
from gateway.rules.refusals import RefusedError, Why
from gateway.sightings import Sightings

from tests.gateway.disk_faults import Faults, Service
from tests.gateway.test_ledger import Clock, entry, run, spend
from tests.gateway.upstream_worlds import entry as known_entry

pytestmark = pytest.mark.one_database

NOW = Clock(2026, 11, 22)
BRIEF = 0.05


def be_brief(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in (
        (disk_module, "HANGS_AFTER"), (disk_module, "READ_WITHIN"), (stores, "READ_WITHIN"), (stores, "OPEN_WITHIN"),
        (ledger_module, "DISK_WITHIN"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, BRIEF)


def run_hanging(
    folder: Path, monkeypatch: pytest.MonkeyPatch, test: Callable[[Ledger, threading.Event], Awaitable[Any]]
) -> Any:
    """Runs the test with a ledger whose disk hangs from the opening of its file until the event is set."""
    busy, opening = threading.Event(), usage_file.open_checked

    def hang(file: Path, *, is_checked: bool) -> Any:
        busy.wait(60)
        return opening(file, is_checked=is_checked)

    be_brief(monkeypatch)
    monkeypatch.setattr(usage_file, "open_checked", hang)

    async def opened() -> Any:
        disk = Disk(folder / "usage.sqlite3")
        try:
            ledger = Ledger(disk, NOW, patience=BRIEF)
            await ledger.open()
            return await test(ledger, busy)
        finally:
            busy.set()
            await asyncio.to_thread(disk.close)

    return asyncio.run(opened())


async def answers(ledger: Ledger) -> None:
    async with asyncio.timeout(30):
        while ledger.stores.trouble:
            await asyncio.sleep(0)


def test_a_ledger_opens_late_on_a_disk_that_hangs_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def leave(ledger: Ledger) -> None:
        await spend(ledger, 30)
        await ledger.reserve(entry(day_tokens=100), "m", input_tokens=20, min_output=1, max_output=10)

    async def test(ledger: Ledger, busy: threading.Event) -> dict[str, Any]:
        assert "its disk does not answer" in ledger.stores.trouble
        free = await ledger.reserve(entry(), "m", input_tokens=1, min_output=1, max_output=4)
        ledger.settle(free, Usage(1, 4), entry=entry())
        with pytest.raises(RefusedError, match="its disk does not answer") as refused:
            await spend(ledger, 1, day_tokens=100)
        assert refused.value.why is Why.LATER
        with pytest.raises(DiskError, match="does not answer"):
            await ledger.read_since(0)
        monkeypatch.undo()
        busy.set()
        await answers(ledger)
        with pytest.raises(RefusedError):
            await spend(ledger, 36, day_tokens=100)
        await spend(ledger, 35, day_tokens=100)
        return await ledger.read_since(0)

    run(tmp_path, NOW, leave)
    rows = run_hanging(tmp_path, monkeypatch, test)["rows"]
    assert sum(row["input"] + row["output"] for row in rows) == 100


def test_what_was_refused_is_known_once_the_disk_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Except what was seen or changed meanwhile."""
    one = known_entry()

    async def leave(ledger: Ledger) -> None:
        for fact in Fact:
            ledger.refusals.keep("p", fact, NOW())

    async def test(ledger: Ledger, busy: threading.Event) -> None:
        sightings = Sightings(NOW, find_entry=lambda _: one, kept=ledger.refusals)
        await ledger.refusals.tell(sightings.restore)
        sightings.note(one, Proof(frozenset({Fact.KEY})))
        sightings.change_entry(known_entry(token="2:b"), one)
        monkeypatch.undo()
        busy.set()
        await answers(ledger)
        (seen,) = sightings.as_document()["seen"].values()
        refused = {fact for fact, each in seen["facts"].items() if each["refused"]}
        assert refused == {Fact.PERMISSION, Fact.CREDIT}
        assert {row[1] for row in await ledger.refusals.read()} == refused

    run(tmp_path, NOW, leave)
    run_hanging(tmp_path, monkeypatch, test)


@pytest.mark.parametrize("asks_on", [True, False], ids=["patient", "gone"])
def test_a_file_that_was_set_back_becomes_another_store_once_the_disk_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, asks_on: bool
) -> None:
    service, busy = Service(), threading.Event()

    async def test(ledger: Ledger) -> None:
        await spend(ledger, 30, day_tokens=100)
        store = (await ledger.read_since(0))["store"]
        real, disk = ledger._disk.run, ledger._disk

        async def hang(work: Any, *, is_read: bool = False) -> Any:
            if not is_read:
                disk.submit(lambda _: busy.wait(60))
            return await real(work, is_read=is_read)

        monkeypatch.setattr(disk, "run", hang)
        be_brief(monkeypatch)
        asking = asyncio.ensure_future(ledger.read_since(2**61, store))
        if asks_on:
            with pytest.raises(DiskError, match="does not answer"):
                await asking
        else:
            while ledger._totals.stores:
                await asyncio.sleep(0)
            asking.cancel()
            await asyncio.wait({asking})
        with pytest.raises(RefusedError) as refused:
            await spend(ledger, 1, day_tokens=100)
        assert refused.value.why is Why.LATER
        with pytest.raises(DiskError, match="does not answer"):
            await ledger.read_since(2**61, store)
        monkeypatch.undo()
        busy.set()
        await answers(ledger)
        await service.read(ledger)
        assert service.store != store
        assert ledger._totals.stores == [service.store]
        with pytest.raises(RefusedError) as refused:
            await spend(ledger, 1, day_tokens=100)
        assert refused.value.words == stores.UNTOLD

    try:
        run(tmp_path, NOW, test)
    finally:
        busy.set()


@pytest.mark.parametrize("code", ["FULL", "IOERR"])
def test_a_call_whose_agent_is_gone_logs_nothing_when_its_disk_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, code: str
) -> None:
    faults, busy = Faults(monkeypatch), threading.Event()

    async def test(ledger: Ledger) -> None:
        ledger._disk.submit(lambda _: busy.wait(60))
        call = asyncio.ensure_future(spend(ledger, 1, day_tokens=100))
        for _ in range(5):
            await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait({call})
        faults.begin("BEGIN IMMEDIATE", code, ledger)
        busy.set()
        while not ledger.stores.trouble:
            await asyncio.sleep(0)
        faults.end()
        await answers(ledger)

    run(tmp_path, NOW, test)
    gc.collect()
    assert "never retrieved" not in caplog.text
