"""Faults of the disk, by SQLite's code and by the statement that meets them, and a service that reads the counts."""

import sqlite3
from functools import partial
from typing import Any

import pytest
from gateway.budgets import disk, stores
from gateway.budgets.ledger import Ledger
from gateway.entries.spent import Spent
from gateway.periods import Period, name_of

CODES = {"BUSY": 5, "LOCKED": 6, "READONLY": 8, "IOERR": 10, "CORRUPT": 11, "FULL": 13, "CANTOPEN": 14, "NOTADB": 26}
DAMAGE = ("CORRUPT", "NOTADB")
STATEMENTS = (
    "BEGIN IMMEDIATE", "COMMIT", "INSERT INTO reservations", "DELETE FROM reservations", "UPDATE reservations",
    "INSERT INTO advances", "INSERT INTO usage", "UPDATE meta", "INSERT INTO sizes", "SELECT",
)  # fmt: skip


class Faults:
    """While `place` is set, statements that begin with it fail. Damage ends with the file that has it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place, self.code = "", ""
        self.met = 0
        self._is_next_damaged = False
        self._opened: list[Any] = []
        connect = partial(sqlite3.connect, factory=self._make_class())
        monkeypatch.setattr("gateway.budgets.usage_file.sqlite3.connect", connect)
        monkeypatch.setattr(disk, "RETRY_AFTER", 0.01)
        monkeypatch.setattr(disk, "READ_WITHIN", 60.0)
        monkeypatch.setattr(stores, "OPEN_AGAIN_AFTER", 0.01)

    def _make_class(self) -> type[sqlite3.Connection]:
        faults = self

        class Connection(sqlite3.Connection):
            is_damaged = False

            def __init__(self, *args: Any, **options: Any) -> None:
                super().__init__(*args, **options)
                faults._opened.append(self)

            def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
                faults.check(self, sql)
                return super().execute(sql, *rest)

            def executemany(self, sql: str, *rest: Any) -> sqlite3.Cursor:
                faults.check(self, sql)
                return super().executemany(sql, *rest)

        return Connection

    def begin(self, place: str, code: str, ledger: Ledger) -> None:
        ledger._sizes._kept.clear()  # so that sizes are written again
        self._opened[-1].is_damaged = code in DAMAGE
        self.place, self.code = place, code

    def begin_at_start(self, place: str, code: str) -> None:
        """Like `begin`, for the file that is opened next."""
        self._is_next_damaged = code in DAMAGE
        self.place, self.code = place, code

    def end(self) -> None:
        self.place = ""

    def check(self, connection: Any, sql: str) -> None:
        if not self.place or not sql.strip().startswith(self.place):
            return
        if self._is_next_damaged:
            connection.is_damaged, self._is_next_damaged = True, False
        if self.code in DAMAGE and not connection.is_damaged:
            return
        self.met += 1
        error = (sqlite3.DatabaseError if self.code in DAMAGE else sqlite3.OperationalError)(self.code)
        error.sqlite_errorcode = CODES[self.code]
        raise error


class Service:
    """Reads the counts like the watcher does, and says what was spent like it."""

    def __init__(self) -> None:
        self.store, self.seq = "", 0
        self.rows: dict[tuple[str, str, int, str], dict[str, int]] = {}

    async def read(self, ledger: Ledger) -> None:
        page = await ledger.read_since(self.seq, self.store)
        if page["store"] != self.store:
            page = await ledger.read_since(0, page["store"])
        for row in page["rows"]:
            self.rows[page["store"], row["project"], row["hour"], row["model"]] = row
        self.store, self.seq = page["store"], page["seq"]

    def sum(self, project: str, *names: str) -> int:
        return sum(row[name] for cell, row in self.rows.items() for name in names if cell[1] == project)

    def spent(self, project: str, hour: int) -> tuple[Spent, ...]:
        found = {self.store: 0}
        for (store, each, _, _), row in self.rows.items():
            if each == project:
                found[store] = found.get(store, 0) + row["input"] + row["output"]
        return tuple(Spent(store, name_of(Period.DAY, hour), tokens, 0) for store, tokens in found.items())
