"""A damaged usage file that was set aside, and what it still tells of calls in flight and of unread usage.

The process that was there when it got damaged knows all of that. Another one reads it from what is left.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gateway.budgets.changes import Cell, Counts, Reservation, add_to
from gateway.budgets.lost import count_lost

ENDINGS = ("-shm", "-wal", "")
"""Of the names of the files that SQLite has open, in the order in which they are set aside."""
_USAGE = """
    SELECT project, hour, model, messages, requests, errors, estimated, input, output, cached, money, seq FROM usage
"""
_FORMS: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "count": lambda value: isinstance(value, int) and 0 <= value < 2**62,
    "change": lambda value: isinstance(value, int) and abs(value) < 2**62,
    "hour": lambda value: isinstance(value, int) and 0 <= value < 2**22,
}
"""What is written in a column. Anything else is part of the damage. 2**22 hours end in the year 2448."""


class TornFile:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._torn = file.with_name(f"{file.name}.torn")
        self._mark = file.with_name(f"{file.name}.unread")
        """There while what the torn file tells is in no other one."""

    def put(self) -> None:
        """Sets the usage file aside. Keeps an earlier one that is unread. Raises OSError."""
        is_unread = self._mark.exists() and self._torn.exists()
        place = self._torn.with_name(f"{self._torn.name}.again") if is_unread else self._torn
        for ending in ENDINGS:
            place.with_name(f"{place.name}{ending}").unlink(missing_ok=True)
        with suppress(OSError):
            self._mark.touch()
        for ending in ENDINGS:
            with suppress(FileNotFoundError):
                self._file.with_name(f"{self._file.name}{ending}").replace(place.with_name(f"{place.name}{ending}"))

    def forget(self) -> None:
        """Notes that another file has what this one tells."""
        with suppress(OSError):
            self._mark.unlink(missing_ok=True)

    def read(self) -> dict[Cell, Counts]:
        """Returns what can be read and is in no other file, as estimated. Nothing if all is unreadable.

        Of an hour in which the service has not read the last change, the whole usage counts.
        """
        with suppress(sqlite3.Error, OSError, ValueError):
            if self._mark.exists():
                with closing(sqlite3.connect(f"file:{quote(str(self._torn))}?mode=ro", uri=True)) as connection:
                    return _read(connection)
        return {}


def _read(connection: sqlite3.Connection) -> dict[Cell, Counts]:
    forms = ("count", "text", "hour", "text", *["count"] * 3)
    reservations = _rows(connection, "SELECT * FROM reservations", forms, key=("id",))
    forms = ("text", "hour", "change", "change")
    advances = _rows(connection, "SELECT * FROM advances", forms, key=("project", "hour"))
    cells = count_lost((Reservation(*row) for row in reservations), advances)
    with suppress(sqlite3.Error):  # then it is not known what is unread
        meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
        add_to(cells, dict(_unread(connection, since=int(meta.get("read", 0)))))
    return cells


def _unread(connection: sqlite3.Connection, *, since: int) -> Iterator[tuple[Cell, Counts]]:
    forms = ("text", "hour", "text", *["count"] * 9)
    for *place, seq in _rows(connection, _USAGE, forms, key=("project", "hour", "model")):
        if seq > since:
            counts = Counts(*place[3:])
            yield Cell(*place[:3]), replace(counts, estimated=max(counts.estimated, counts.requests))


def _rows(connection: sqlite3.Connection, chosen: str, forms: tuple[str, ...], *, key: tuple[str, ...]) -> list[Any]:
    """Returns the rows before the first damage and those after the last one."""
    found: dict[Any, None] = {}
    for direction in ("ASC", "DESC"):
        with suppress(sqlite3.Error):
            for row in connection.execute(f"{chosen} ORDER BY {', '.join(f'{name} {direction}' for name in key)}"):
                if all(_FORMS[form](value) for form, value in zip(forms, row, strict=True)):
                    found[row] = None
    return list(found)
