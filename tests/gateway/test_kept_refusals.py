"""What was refused is still known after the gateway was killed, and what was refuted is not."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from gateway.budgets.disk import Disk
from gateway.budgets.disk_errors import DiskError
from gateway.budgets.kept_refusals import KeptRefusals
from gateway.budgets.ledger import Ledger
from gateway.budgets.tasks import Work
from gateway.periods import Period, hour_of
from gateway.proofs import Fact

from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent
from tests.gateway.conftest import new_agent
from tests.gateway.process import PATIENCE, Gateway
from tests.gateway.test_damaged_files import (
    checkpoint,
    empty,
    overwrite,
    put_another_in_its_place,
    remove,
    remove_log,
)
from tests.gateway.test_ledger import Clock, run, spend
from tests.gateway.test_sightings import UNKNOWN, UNPAID, seen
from tests.waiting import wait_until

pytestmark = pytest.mark.one_database


def kept(gateway: Gateway) -> set[str]:
    """Returns what is on the disk of the running gateway."""
    file = gateway.folder / "state" / "usage.sqlite3"
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    try:
        return {fact for (fact,) in connection.execute("SELECT fact FROM refusals")}
    finally:
        connection.close()


def kill(gateway: Gateway, *, once: set[str]) -> None:
    """Kills it once this is on its disk, and starts it again."""
    wait_until(lambda: kept(gateway) == once, within=PATIENCE, what=lambda: f"It has {kept(gateway)}")
    gateway.kill()
    gateway.start()


@pytest.fixture
def agent(own_gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider) -> Agent:
    return new_agent(own_gateway.start(), telegram, provider)


def test_refusals_outlive_a_kill_until_they_are_refuted(
    own_gateway: Gateway, agent: Agent, telegram: FakeTelegram, provider: StreamingProvider
) -> None:
    telegram.revoke(agent.token)
    agent.bot("getUpdates")
    for answer in (UNPAID, UNKNOWN):
        provider.answer_with = answer
        agent.chat()
    for _ in range(2):
        kill(own_gateway, once={"token", "key", "credit"})
        found = seen(agent)
        assert (found["telegram_status"], found["provider_status"], found["last_poll"]) == (401, 401, None)
    telegram.restore(agent.token)
    agent.bot("getMe")
    provider.answer_with = UNPAID
    agent.chat()
    kill(own_gateway, once={"credit"})
    assert (seen(agent)["telegram_status"], seen(agent)["provider_status"]) == (None, 402)
    provider.answer_with = None
    assert agent.chat().status == 200
    kill(own_gateway, once=set())
    assert seen(agent)["provider_status"] is None


@pytest.mark.parametrize("how", ["new key", "void"])
def test_a_refusal_of_a_former_key_is_not_kept(
    own_gateway: Gateway, agent: Agent, provider: StreamingProvider, how: str
) -> None:
    provider.answer_with = UNPAID
    agent.chat()
    kill(own_gateway, once={"credit"})
    if how == "void":
        own_gateway.apply(void=(agent.project,))
    else:
        agent.key = "sk-CANARYnewCANARYnewCANARYnew"
        own_gateway.apply(agent.entry())
    kill(own_gateway, once=set())
    assert seen(agent)["provider_status"] is None


def test_a_refusal_of_a_project_whose_entry_is_lost_is_deleted(
    own_gateway: Gateway, agent: Agent, provider: StreamingProvider
) -> None:
    provider.answer_with = UNPAID
    agent.chat()
    wait_until(lambda: kept(own_gateway) == {"credit"}, within=PATIENCE)
    own_gateway.kill()
    for file in (own_gateway.folder / "state" / "entries").iterdir():
        file.unlink()
    own_gateway.start()
    wait_until(lambda: kept(own_gateway) == set(), within=PATIENCE)


def test_writes_in_another_order_leave_what_stands(tmp_path: Path) -> None:
    """A write that failed comes again after later ones."""
    works: list[Work] = []

    async def test() -> list[tuple[str, Fact, float]]:
        disk = Disk(tmp_path / "usage.sqlite3")
        refusals = KeptRefusals(disk, works.append)
        refusals.keep("p", Fact.KEY, 5.0)
        refusals.keep("p", Fact.TOKEN, 6.0)
        refusals.drop("p", {Fact.KEY})
        for work in reversed(works):
            await disk.run(work)
        rows = await refusals.read()
        disk.close()
        return rows

    assert asyncio.run(test()) == [("p", Fact.TOKEN, 6.0)]


@pytest.mark.parametrize("damage", [overwrite, empty, remove, remove_log, put_another_in_its_place])
def test_a_file_that_is_damaged_meanwhile_gets_all_that_stands(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    """Refusals of an earlier process and of this one, and the sizes of calls."""
    file, now = tmp_path / "usage.sqlite3", Clock(2026, 11, 22)

    async def use(ledger: Ledger) -> None:
        ledger.refusals.keep("p", Fact.KEY, 5.0)
        ledger.refusals.keep("q", Fact.CREDIT, 6.0)
        await spend(ledger, 7)

    async def lose(ledger: Ledger) -> None:
        assert len(await ledger.refusals.read()) == 2
        ledger.refusals.drop("p", {Fact.KEY})
        ledger.refusals.keep("p", Fact.TOKEN, 8.0)
        await ledger._disk.run(lambda _: None)
        await asyncio.to_thread(checkpoint, file)
        await asyncio.to_thread(damage, file)
        stores = ledger._totals.stores
        async with asyncio.timeout(30):
            while len(stores) == 1:
                with suppress(DiskError):
                    await ledger._disk.run(lambda connection: connection.execute("PRAGMA shrink_memory"), is_read=True)
                    await ledger.read_since(0)
        await ledger._disk.run(lambda _: None)

    async def look(ledger: Ledger) -> None:
        assert set(await ledger.refusals.read()) == {("q", Fact.CREDIT, 6.0), ("p", Fact.TOKEN, 8.0)}
        assert ledger._sizes.recent("p", Period.DAY, hour_of(now())).tokens == 7

    for step in (use, lose, look):
        run(tmp_path, now, step)


def test_a_disk_that_cannot_be_read_remembers_nothing(tmp_path: Path) -> None:
    async def test() -> list[tuple[str, Fact, float]]:
        (tmp_path / "usage.sqlite3").mkdir()
        disk = Disk(tmp_path / "usage.sqlite3")
        rows = await KeptRefusals(disk, disk.keep).read()
        disk.close()
        return rows

    assert asyncio.run(test()) == []
