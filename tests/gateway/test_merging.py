"""Merged changes have the same effect as all of them one after another."""

import random
import sqlite3
from concurrent.futures import Future
from typing import Any

import pytest
from gateway.budgets.changes import Cell, ChangeAdvance, Counts, Extend, Insert, Reservation, Settle
from gateway.budgets.rows import NoteRead
from gateway.budgets.tasks import Task
from gateway.budgets.writing import merging
from gateway.budgets.writing.merging import merge
from gateway.budgets.writing.schema import SCHEMA

pytestmark = pytest.mark.one_database

HOURS = (495_000, 495_001, 495_030)


class Changes:
    """A random history of calls as the ledger writes it."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._open: list[Reservation] = []
        self._number = 0

    def next(self) -> Task:
        chance = self._chance
        kind = chance.choice(["begin", "begin", "end", "end", "extend", "advance", "count", "read"])
        if kind == "begin":
            return self._begin()
        if kind == "end" and self._open:
            one = self._open.pop(chance.randrange(len(self._open)))
            return Task(Settle((one.id,), {self._cell(one): Counts(requests=1, output=chance.randrange(9))}))
        if kind == "extend" and self._open:
            at = chance.randrange(len(self._open))
            one = self._open[at]
            self._open[at] = Reservation(*self._place(one), one.input, one.output + 5, one.money + 1)
            return Task(Extend(self._open[at]))
        if kind == "advance":
            return Task(ChangeAdvance(chance.choice("pq"), chance.choice(HOURS), chance.choice([-5, 0, 5]), 1))
        if kind == "read":
            return Task(NoteRead(chance.randrange(100), "store"))
        return Task(Settle((), {Cell(chance.choice("pq"), chance.choice(HOURS), ""): Counts(messages=1)}))

    def _begin(self) -> Task:
        """One that waits has its place, unless its caller is gone: then it ends at once."""
        chance, self._number = self._chance, self._number + 1
        one = Reservation(self._number, chance.choice("pq"), chance.choice(HOURS), "m", 1, chance.randrange(20), 2)
        self._open.append(one)
        done: Future[Any] | None = Future() if chance.random() < 0.2 else None
        if done is not None and chance.random() < 0.5:
            done.cancel()
        return Task(Insert(one, is_drawn=done is None and chance.random() < 0.5), done)

    @staticmethod
    def _cell(one: Reservation) -> Cell:
        return Cell(one.project, one.hour, one.model)

    @staticmethod
    def _place(one: Reservation) -> tuple[int, str, int, str]:
        return one.id, one.project, one.hour, one.model


def effect(tasks: list[Task]) -> list[Any]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(SCHEMA)
    connection.executemany("INSERT INTO meta VALUES (?, ?)", [("seq", "0"), ("store", "store")])
    for each in tasks:
        each.work(connection)
    return [
        connection.execute(f"SELECT {what} ORDER BY 1, 2, 3").fetchall()
        for what in (
            "* FROM reservations", "project, hour, tokens, money FROM advances WHERE tokens OR money",
            "project, hour, model, messages, requests, input, output, money FROM usage",
            "name, value, 1 FROM meta WHERE name <> 'seq'",
        )
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(100))
@pytest.mark.sampled(10)
def test_a_merged_history_has_the_same_effect(seed: int) -> None:
    chance, changes, all_of_them, merged = random.Random(seed), Changes(seed), list[Task](), list[Task]()
    for _ in range(chance.randrange(1, 300)):
        one = changes.next()
        all_of_them.append(one)
        merged.append(one)
        if chance.random() < 0.1:
            merged = merge(merged)
    merged = merge(merged)
    assert effect(merged) == effect(all_of_them)
    waiting = [each for each in all_of_them if each.done is not None and not each.is_cancelled]
    assert [each for each in merged if each.done is not None and not each.is_cancelled] == waiting


def test_a_call_that_has_ended_leaves_only_what_it_cost() -> None:
    one = Reservation(1, "p", HOURS[0], "m", 1, 2, 3)
    settled = Settle((1,), {Cell("p", HOURS[0], "m"): Counts(output=2)})
    assert [each.work for each in merge([Task(Insert(one)), Task(Extend(one)), Task(settled)])] == [
        Settle((), settled.cells)
    ]


def test_of_too_many_rows_only_the_days_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "MOST_CELLS", 10)
    cells = [Task(Settle((), {Cell("p", HOURS[0] // 24 * 24 + hour, "m"): Counts(output=1)})) for hour in range(48)]
    (left,) = merge(cells)
    assert isinstance(left.work, Settle)
    assert [counts.output for counts in left.work.cells.values()] == [24, 24]


def test_a_read_that_nobody_waits_for_is_dropped() -> None:
    done: Future[Any] = Future()
    done.cancel()
    assert merge([Task(lambda _: None, done, is_read=True)]) == []
