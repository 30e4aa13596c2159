"""Changes that can wait are collected for a moment, and are never overtaken."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from gateway.budgets.changes import Settle
from gateway.budgets.disk import Disk
from gateway.budgets.ledger import Ledger
from gateway.budgets.tasks import Task
from gateway.budgets.writing.task_queue import TaskQueue
from gateway.entries.entry import Budget, Entry
from gateway.meters.usage import Usage

from tests.gateway.test_ledger import Clock, run

pytestmark = pytest.mark.one_database

ENTRY = Entry("p", budget=Budget(day_tokens=10**6))


def task(number: int) -> Task:
    def work(_: sqlite3.Connection) -> int:
        return number

    return Task(work)


def numbers(tasks: list[Task]) -> list[int]:
    connection: Any = None
    return [each.work(connection) for each in tasks]


def test_what_can_wait_comes_before_the_next_that_cannot() -> None:
    async def test() -> None:
        queue = TaskQueue()
        queue.put_soon(task(1))
        queue.put_soon(task(2))
        queue.put(task(3))
        assert numbers(queue.collect(within=0.0)[0]) == [1, 2, 3]

    asyncio.run(test())


def test_what_can_wait_comes_together_in_a_moment() -> None:
    async def test() -> None:
        queue = TaskQueue()
        queue.put_soon(task(1))
        queue.put_soon(task(2))
        found, is_last = await asyncio.to_thread(queue.collect, within=60.0)
        assert (numbers(found), is_last) == ([1, 2], False)

    asyncio.run(test())


def test_nothing_that_waits_is_lost_at_the_end() -> None:
    async def test() -> None:
        queue = TaskQueue()
        queue.put_soon(task(1))
        queue.put(None)
        found, is_last = queue.collect(within=0.0)
        assert (numbers(found), is_last) == ([1], True)

    asyncio.run(test())


@pytest.mark.parametrize(("spent", "can_wait"), [(20, True), (21, False)])
def test_a_call_that_cost_more_than_was_reserved_is_written_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spent: int, *, can_wait: bool
) -> None:
    """A kill meanwhile would lose the difference. Otherwise the reservation on the disk covers the call."""
    kept: list[bool] = []
    keep = Disk.keep

    def note(disk: Disk, work: Any, *, can_wait: bool = False) -> None:
        kept.extend([can_wait] if isinstance(work, Settle) else [])
        keep(disk, work, can_wait=can_wait)

    monkeypatch.setattr(Disk, "keep", note)

    async def test(ledger: Ledger) -> None:
        reservation = await ledger.reserve(ENTRY, "m", input_tokens=10, min_output=10, max_output=10)
        ledger.settle(reservation, Usage(10, spent - 10), entry=ENTRY)

    run(tmp_path, Clock(2026, 11, 30), test)
    assert kept == [can_wait]
