"""The SQL statements for reservations and usage. Each runs in the disk's thread, inside a transaction."""

import sqlite3
import uuid
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import Any

from gateway.budgets.disk import Work
from gateway.meters.usage import MAX_COUNT

COLUMNS = ("messages", "requests", "errors", "estimated", "input", "output", "cached", "money")
KEPT_HOURS = 62 * 24
"""Hours for which rows are kept: the current and the previous month. The service has read older rows long ago."""
MOST_ROWS = 1000

_ADD = """
    INSERT INTO usage (project, hour, model, messages, requests, errors, estimated, input, output, cached, money, seq)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
    ON CONFLICT (project, hour, model) DO UPDATE SET
        messages = min(messages + ?4, ?13), requests = min(requests + ?5, ?13), errors = min(errors + ?6, ?13),
        estimated = min(estimated + ?7, ?13), input = min(input + ?8, ?13), output = min(output + ?9, ?13),
        cached = min(cached + ?10, ?13), money = min(money + ?11, ?13), seq = ?12
"""
_READ = """
    SELECT project, hour, model, messages, requests, errors, estimated, input, output, cached, money, seq
    FROM usage WHERE seq > ? ORDER BY seq LIMIT ?
"""


_SPENT = """
    SELECT project, hour / 24 * 24, CAST(total(input + output) AS INTEGER), CAST(total(money) AS INTEGER)
    FROM usage GROUP BY project, hour / 24
"""
"""Grouped by days, which takes a tenth of the time of reading all hours and models, because agents wait for it."""


_CHANGE_ADVANCE = """
    INSERT INTO advances (project, hour, tokens, money) VALUES (?, ?, ?, ?)
    ON CONFLICT (project, hour) DO UPDATE SET tokens = tokens + excluded.tokens, money = money + excluded.money
"""


@dataclass(frozen=True, slots=True)
class Counts:
    """The amounts to add to one hour of one project and model, in the order of `COLUMNS`."""

    messages: int = 0
    requests: int = 0
    errors: int = 0
    estimated: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    money: int = 0


@dataclass(frozen=True, slots=True)
class Reservation:
    """The most that a call in flight can cost. It counts in the hour of the request."""

    id: int
    project: str
    hour: int
    model: str
    input: int
    output: int
    money: int

    @property
    def tokens(self) -> int:
        return self.input + self.output


def insert(reservation: Reservation) -> Work:
    def work(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO reservations VALUES (?, ?, ?, ?, ?, ?, ?)", astuple(reservation))

    return work


def insert_drawn(reservation: Reservation) -> Work:
    """Writes a reservation that the project's advance has covered until now."""
    less = change_advance(reservation.project, reservation.hour, tokens=-reservation.tokens, money=-reservation.money)

    def work(connection: sqlite3.Connection) -> None:
        insert(reservation)(connection)
        less(connection)

    return work


def extend(reservation: Reservation, *, tokens: int, money: int) -> Work:
    def work(connection: sqlite3.Connection) -> None:
        connection.execute(
            "UPDATE reservations SET output = output + ?, money = money + ? WHERE id = ?",
            (tokens, money, reservation.id),
        )

    return work


def change_advance(project: str, hour: int, *, tokens: int, money: int) -> Work:
    def work(connection: sqlite3.Connection) -> None:
        connection.execute(_CHANGE_ADVANCE, (project, hour, tokens, money))

    return work


def settle(reservation: Reservation, counts: Counts, *, model: str) -> Work:
    """Replaces a reservation by the counts. `model` is the name to count under; no cost and no name leave no row."""

    def work(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM reservations WHERE id = ?", (reservation.id,))
        if model or any(_values(counts)):
            _add(connection, reservation.project, reservation.hour, model, counts)

    return work


def add(project: str, hour: int, model: str, counts: Counts) -> Work:
    return lambda connection: _add(connection, project, hour, model, counts)


def recover(this_hour: int) -> Work:
    """Counts reservations and advances of the ended process in full, and deletes old hours.

    Returns the store's id, the models of each project, and one row per project and day: project, first hour, tokens
    and money.
    """

    def work(connection: sqlite3.Connection) -> tuple[str, list[tuple[str, str]], list[tuple[str, int, int, int]]]:
        connection.execute("INSERT OR IGNORE INTO meta VALUES ('store', ?), ('seq', '0')", (uuid.uuid4().hex,))
        for row in connection.execute("SELECT * FROM reservations").fetchall():
            left = Reservation(*row)
            counts = Counts(requests=1, estimated=1, input=left.input, output=left.output, money=left.money)
            settle(left, counts, model=left.model)(connection)
        for project, hour, tokens, money in connection.execute("SELECT * FROM advances").fetchall():
            if tokens > 0 or money > 0:
                # Calls that drew on the advance may not have been written.
                _add(connection, project, hour, "", Counts(estimated=1, output=max(0, tokens), money=max(0, money)))
        connection.execute("DELETE FROM advances")
        forget(this_hour)(connection)
        models = connection.execute("SELECT DISTINCT project, model FROM usage WHERE model <> ''").fetchall()
        return _store(connection), models, connection.execute(_SPENT).fetchall()

    return work


def forget(this_hour: int) -> Work:
    """Deletes the rows of old hours."""

    def work(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM usage WHERE hour < ?", (this_hour - KEPT_HOURS,))
        connection.execute("DELETE FROM sizes WHERE hour < ?", (this_hour - KEPT_HOURS,))

    return work


def read_since(seq: int) -> Work:
    """Returns rows changed after this number, oldest change first. Rows are totals: reading them twice is harmless."""

    def work(connection: sqlite3.Connection) -> dict[str, Any]:
        names = ("project", "hour", "model", *COLUMNS, "seq")
        rows = connection.execute(_READ, (seq, MOST_ROWS + 1)).fetchall()
        shown = rows[:MOST_ROWS]
        return {
            "store": _store(connection),
            "seq": shown[-1][-1] if shown else seq,
            "rows": [dict(zip(names, row, strict=True)) for row in shown],
            "more": len(rows) > MOST_ROWS,
        }

    return work


def _store(connection: sqlite3.Connection) -> str:
    (store,) = connection.execute("SELECT value FROM meta WHERE name = 'store'").fetchone()
    return str(store)


def _add(connection: sqlite3.Connection, project: str, hour: int, model: str, counts: Counts) -> None:
    next_seq = "UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE name = 'seq' RETURNING value"
    ((seq,),) = connection.execute(next_seq).fetchall()
    connection.execute(_ADD, (project, hour, model, *_values(counts), int(seq), MAX_COUNT))


def _values(counts: Counts) -> Iterator[int]:
    return (min(getattr(counts, name), MAX_COUNT) for name in COLUMNS)
