"""While the disk takes no data, the gateway starts, and serves everything that needs no ledger."""

import asyncio
import resource
import shutil
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from gateway.budgets import disk, stores, usage_file
from gateway.budgets import ledger as ledger_module
from gateway.budgets.disk_errors import DiskError
from gateway.budgets.ledger import Ledger
from gateway.entries.entry import Entry
from gateway.meters.usage import Usage
from gateway.rules.refusals import RefusedError, Why

from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.conftest import new_agent
from tests.gateway.disk_faults import Faults
from tests.gateway.process import PATIENCE, Gateway
from tests.gateway.test_ledger import Clock, entry, run, spend
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database

NOW = Clock(2026, 11, 22)
NO_LIMIT = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


@pytest.mark.parametrize("failing", ["opening", "recovery", "sizes"])
def test_a_ledger_opens_when_the_disk_takes_data_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    async def lose(ledger: Ledger) -> None:
        await spend(ledger, 30)
        await ledger.reserve(entry(day_tokens=100), "m", input_tokens=20, min_output=1, max_output=10)

    run(tmp_path, NOW, lose)
    left = 3

    def fail(*_: Any, **__: Any) -> Any:
        nonlocal left
        left -= 1
        if left >= 0:
            raise sqlite3.OperationalError("database or disk is full")
        return real(*_, **__)

    places = {
        "opening": "gateway.budgets.usage_file.open_checked",
        "recovery": "gateway.budgets.rows._find_lost",
        "sizes": "gateway.budgets.recent_sizes._read",
    }
    module, _, name = places[failing].rpartition(".")
    real = getattr(__import__(module, fromlist=[name]), name)
    monkeypatch.setattr(places[failing], fail)
    monkeypatch.setattr(stores, "OPEN_AGAIN_AFTER", 0.0)

    async def test(ledger: Ledger) -> dict[str, Any]:
        assert not ledger.stores.is_open
        with pytest.raises(RefusedError) as refused:
            await spend(ledger, 1, day_tokens=100)
        assert refused.value.why is Why.LATER
        free = [await ledger.reserve(entry(), "m", input_tokens=1, min_output=1, max_output=5) for _ in range(2)]
        ledger.settle(free[0], Usage(1, 4), entry=entry())
        ledger.messages.count("p")
        ledger.messages.flush()
        while not ledger.stores.is_open:
            await asyncio.sleep(0)
        ledger.settle(free[1], Usage(1, 4), entry=entry())
        with pytest.raises(RefusedError) as refused:
            await spend(ledger, 31, day_tokens=100)
        assert refused.value.why is not Why.LATER
        await spend(ledger, 30, day_tokens=100)
        return await ledger.read_since(0)

    found = run(tmp_path, NOW, test)["rows"]
    assert sum(row["input"] + row["output"] for row in found) == 100
    assert sum(row["messages"] for row in found) == 1
    assert left < 0


def test_an_answer_that_is_too_long_ends_while_the_disk_takes_no_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill would lose what it costs beyond its reservation."""
    faults = Faults(monkeypatch)

    async def answer(ledger: Ledger) -> int:
        one = entry(day_tokens=1000)
        reservation = await ledger.reserve(one, "m", input_tokens=0, min_output=100, max_output=100)
        free = await ledger.reserve(Entry("q"), "m", input_tokens=0, min_output=100, max_output=100)
        faults.begin("BEGIN IMMEDIATE", "READONLY", ledger)
        ledger.messages.count("p")
        ledger.messages.flush()
        while not ledger.stores.trouble:
            await asyncio.sleep(0)
        assert ledger.extend(free, Entry("q"), by=500).output == 600
        with pytest.raises(RefusedError, match="its disk is read-only"):
            ledger.extend(reservation, one, by=500)
        await ledger._disk.run(lambda _: shutil.copytree(tmp_path / "one", tmp_path / "two"), is_read=True)
        faults.end()
        while ledger.stores.trouble:
            await asyncio.sleep(0)
        return ledger.extend(reservation, one, by=500).output

    async def look(ledger: Ledger) -> None:
        with pytest.raises(RefusedError):
            await spend(ledger, 901, day_tokens=1000)
        await spend(ledger, 900, day_tokens=1000)

    assert run(tmp_path / "one", NOW, answer) == 600
    run(tmp_path / "two", NOW, look)


def test_a_ledger_ends_although_its_file_was_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_file: Path, **_: Any) -> None:
        raise sqlite3.OperationalError

    monkeypatch.setattr(usage_file, "open_checked", fail)

    async def test(ledger: Ledger) -> None:
        ledger.close()

    run(tmp_path, NOW, test)
    assert not any(tmp_path.iterdir())


def test_a_disk_that_hangs_delays_nobody_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((disk, "HANGS_AFTER"), (disk, "READ_WITHIN"), (ledger_module, "DISK_WITHIN")):
        monkeypatch.setattr(module, name, 0.05)

    async def test(ledger: Ledger) -> dict[str, Any]:
        ledger._disk.submit(lambda _: busy.wait(60))
        try:
            with pytest.raises(DiskError, match="does not answer"):
                await ledger.read_since(0)
            with pytest.raises(RefusedError) as refused:
                await spend(ledger, 5, day_tokens=100)
            assert refused.value.why is Why.LATER
            assert "its disk does not answer" in ledger.stores.trouble
            await spend(ledger, 7)
        finally:
            busy.set()
        monkeypatch.undo()
        while ledger.stores.trouble:
            await asyncio.sleep(0)
        await spend(ledger, 93, day_tokens=100)
        return await ledger.read_since(0)

    busy = threading.Event()
    rows = run(tmp_path, NOW, test)["rows"]
    assert sum(row["output"] for row in rows) == 100


def test_a_gateway_that_is_killed_while_its_disk_is_full_serves_what_needs_no_ledger(
    own_gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider
) -> None:
    own_gateway.start()
    bounded, free = (new_agent(own_gateway, telegram, provider) for _ in range(2))
    own_gateway.apply(bounded.entry(budget={"day_tokens": 10**6}), free.entry())
    assert bounded.chat().status == free.chat().status == 200
    assert free.settled(1)["requests"] == 1  # otherwise a kill may lose it
    own_gateway.kill()
    full = own_gateway.folder / "on-a-full-disk"
    full.write_text(f'#!/bin/sh\nulimit -S -f 0\nexec "{own_gateway.python}" "$@"\n')
    full.chmod(0o700)
    own_gateway.python = str(full)
    own_gateway.lines.clear()
    own_gateway.start()
    assert (bounded.chat().status, free.chat().status, free.bot("getMe").status) == (503, 200, 200)
    said = [line for line in own_gateway.lines if "calls under a budget are refused until it can" in line]
    assert len(said) == 1
    assert "Traceback" not in "\n".join(own_gateway.lines)
    resource.prlimit(own_gateway.pid, resource.RLIMIT_FSIZE, NO_LIMIT)
    wait_until(lambda: bounded.chat().status == 200, within=PATIENCE)
    assert free.settled(2)["requests"] == 2
    assert own_gateway.stop() == 0
