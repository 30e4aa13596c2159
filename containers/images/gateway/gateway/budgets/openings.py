"""Finds out that the usage file was set back, for example because an older copy of the volume was restored.

Each process that opens the file continues with numbers of changes that no earlier process can have used. So a number
that the service has read, and that lies in none of the ranges that the file knows, comes from a later state of it.
"""

import secrets
import sqlite3
import time
import uuid
from dataclasses import dataclass, field

from gateway.budgets.changes import Cell, Counts
from gateway.budgets.mirror import Mirror
from gateway.budgets.usage_file import read_meta

KEPT = 10_000
"""Ranges that are remembered. The service asks every few seconds, so its number lies in one of the last."""
_SPREAD = 2**30
_CHANGED = "SELECT project, hour, model, messages, requests, errors, estimated, input, output, cached, money FROM usage"


def note_opening(connection: sqlite3.Connection) -> None:
    """Begins a range of numbers: microseconds since 1970, or any later ones if the clock was set back."""
    seq = _read_seq(connection)
    present = int(time.time() * 1_000_000)
    first = present if present > seq else seq + 1 + secrets.randbelow(_SPREAD)
    # A range in which nothing was counted moves: an earlier copy of the file may have been used since.
    moved = connection.execute("UPDATE openings SET first = ? WHERE first = ?", (first, seq))
    if not moved.rowcount:
        connection.execute("INSERT INTO openings VALUES (?, ?)", (seq, first))
    connection.execute("UPDATE meta SET value = ? WHERE name = 'seq'", (str(first),))
    connection.execute("DELETE FROM openings WHERE rowid <= (SELECT max(rowid) FROM openings) - ?", (KEPT,))


def is_from_later(connection: sqlite3.Connection, seq: int) -> bool:
    """Whether this number of a change, which the service has read from this store, is not in the file."""
    if seq > _read_seq(connection):
        return True
    gap = "SELECT 1 FROM openings WHERE before < ?1 AND ?1 < first"
    return connection.execute(gap, (seq,)).fetchone() is not None


@dataclass(slots=True)
class StartStore:
    """Makes a file that was set back another store, without the rows that the service has read.

    Rows that have changed since are kept as they are, and count as estimated, because part of them may be counted in
    the former store too.
    """

    seq: int
    """The number up to which the service has read."""
    store: str
    """The store whose number that is."""
    _cells: dict[Cell, Counts] = field(default_factory=dict)
    _last: int = 0

    def __call__(self, connection: sqlite3.Connection) -> tuple[str, list[tuple[str, int, int, int]]]:
        """Returns the new id, and what the remaining rows have spent: project, hour, tokens, money. Raises LookupError
        if the file is another store by now.
        """
        if read_meta(connection, "store") != self.store:
            raise LookupError("The file is another store.")
        first = connection.execute("SELECT min(first) FROM openings WHERE first > ?", (self.seq,)).fetchone()[0]
        if first is None:
            first = connection.execute("SELECT max(first) FROM openings").fetchone()[0] or 0
        store = uuid.uuid4().hex
        values = [("store", store), ("doubt", "1")]
        connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values)
        connection.execute("DELETE FROM meta WHERE name = 'read'")
        connection.execute("DELETE FROM usage WHERE seq <= ?", (first,))
        connection.execute("UPDATE usage SET estimated = max(estimated, requests)")
        self._last = _read_seq(connection)
        self._cells = read_cells(connection, since=0)
        return store, [
            (cell.project, cell.hour, counts.input + counts.output, counts.money)
            for cell, counts in self._cells.items()
        ]

    def reflect(self, mirror: Mirror, _: object) -> None:
        mirror.forget_usage()
        mirror.add(self._cells, self._last)


def read_cells(connection: sqlite3.Connection, *, since: int) -> dict[Cell, Counts]:
    """Returns the totals of rows that have changed after this number."""
    found = connection.execute(f"{_CHANGED} WHERE seq > ?", (since,)).fetchall()
    return {Cell(*row[:3]): Counts(*row[3:]) for row in found}


def _read_seq(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT value FROM meta WHERE name = 'seq'").fetchone()[0])
