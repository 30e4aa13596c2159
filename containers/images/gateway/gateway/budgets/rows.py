"""How a process takes over the usage file and reads it. Each work runs in the disk's thread, in a transaction."""

import sqlite3
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gateway.budgets.changes import COLUMNS, Cell, Counts, Reservation, add, add_to
from gateway.budgets.lost import count_lost
from gateway.budgets.mirror import Mirror
from gateway.budgets.openings import is_from_later, note_opening, read_cells
from gateway.budgets.torn_file import TornFile
from gateway.budgets.usage_file import read_meta

MOST_ROWS = 1000
SET_BACK = "set_back"
"""The name under which `ReadSince` says that the file is an older one than the service has read."""

_READ = """
    SELECT project, hour, model, messages, requests, errors, estimated, input, output, cached, money, seq
    FROM usage WHERE seq > ? ORDER BY seq LIMIT ?
"""
_SPENT = """
    SELECT project, hour / 24 * 24, CAST(total(input + output) AS INTEGER), CAST(total(money) AS INTEGER)
    FROM usage GROUP BY project, hour / 24
"""
"""Grouped by days, which takes a tenth of the time of reading all hours and models, because agents wait for it."""

Spent = tuple[str, int, int, int]
"""A project, the first hour of a day, tokens and money."""


class Recovered(NamedTuple):
    store: str
    is_doubtful: bool
    """Whether earlier counts were lost, so that what was spent is only known once the service has told it."""
    models: list[tuple[str, str]]
    """The models of each project."""
    spent: list[Spent]


@dataclass(slots=True)
class Recover:
    """Counts reservations and advances of the ended process in full."""

    is_loss: Callable[[], bool]
    """Whether a file without an id replaces one that was lost."""
    torn: TornFile
    _unread: dict[Cell, Counts] = field(default_factory=dict)
    _seq: int = 0

    def __call__(self, connection: sqlite3.Connection) -> Recovered:
        lost: dict[Cell, Counts] = {}
        if read_meta(connection, "store"):
            note_opening(connection)
        else:
            new = [("store", uuid.uuid4().hex), ("seq", "0"), *([("doubt", "1")] if self.is_loss() else [])]
            connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", new)
            lost = self.torn.read()
        add_to(lost, _find_lost(connection))
        connection.execute("DELETE FROM reservations")
        connection.execute("DELETE FROM advances")
        self._seq = max((add(connection, cell, counts) for cell, counts in lost.items()), default=0)
        self._unread = read_cells(connection, since=int(read_meta(connection, "read") or 0))
        models = connection.execute("SELECT DISTINCT project, model FROM usage WHERE model <> ''").fetchall()
        spent = connection.execute(_SPENT).fetchall()
        return Recovered(read_meta(connection, "store"), bool(read_meta(connection, "doubt")), models, spent)

    def reflect(self, mirror: Mirror, _: object) -> None:
        self.torn.forget()
        mirror.forget_usage()  # it is not the first try
        mirror.add(self._unread, self._seq)


def _find_lost(connection: sqlite3.Connection) -> dict[Cell, Counts]:
    """Returns what the ended process had reserved."""
    reservations = connection.execute("SELECT * FROM reservations").fetchall()
    advances = connection.execute("SELECT * FROM advances").fetchall()
    return count_lost((Reservation(*row) for row in reservations), advances)


@dataclass(frozen=True, slots=True)
class ReadSince:
    """Reads rows changed after a number of this store, oldest change first. Rows are totals: reading them twice is
    harmless.
    """

    seq: int
    store: str
    """The store of this number; empty if the service did not say."""

    def __call__(self, connection: sqlite3.Connection) -> dict[str, Any]:
        names, store = ("project", "hour", "model", *COLUMNS, "seq"), read_meta(connection, "store")
        if not store:
            raise LookupError("The usage file has no id.")
        rows = connection.execute(_READ, (self.seq, MOST_ROWS + 1)).fetchall()
        shown = rows[:MOST_ROWS]
        return {
            "store": store,
            "seq": shown[-1][-1] if shown else self.seq,
            "rows": [dict(zip(names, row, strict=True)) for row in shown],
            "more": len(rows) > MOST_ROWS,
            SET_BACK: store == self.store and is_from_later(connection, self.seq),
        }

    def reflect(self, mirror: Mirror, answer: object) -> None:
        if isinstance(answer, dict) and answer["store"] == self.store:
            mirror.show(self.seq)


@dataclass(frozen=True, slots=True)
class NoteRead:
    """Notes how far the service has read, so that the next process knows what only the file has."""

    seq: int
    store: str

    @property
    def key(self) -> object:
        """See `merge`."""
        return NoteRead, self.store

    def __call__(self, connection: sqlite3.Connection) -> None:
        if read_meta(connection, "store") == self.store:
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('read', ?)", (str(self.seq),))


@dataclass(frozen=True, slots=True)
class EndDoubt:
    """Notes that all entries say what was spent before counts were lost."""

    store: str

    @property
    def key(self) -> object:
        """See `merge`."""
        return EndDoubt, self.store

    def __call__(self, connection: sqlite3.Connection) -> None:
        if read_meta(connection, "store") == self.store:
            connection.execute("DELETE FROM meta WHERE name = 'doubt'")
