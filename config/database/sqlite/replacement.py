"""Notices that someone has put another file in the place of a SQLite database, or removed it.

A process that has the former file open would go on with it, and everything that it writes there is lost. Its log (WAL)
is still under the name under which SQLite looks for the log of the new file, and would be applied to that one.
"""

import logging
import os
import sqlite3
from contextlib import suppress
from pathlib import Path

FORMER = ".former"
"""Suffix of the former file's log, once another file has its place."""

REPLACED = "its file was replaced or removed while this process had it open"

log = logging.getLogger(__name__)

_Identity = tuple[int, int]

_first_opened: dict[str, _Identity | None] = {}
"""The file that each name led to when this process, or the one that it is a fork of, first opened it."""


def note_opened(name: str) -> None:
    _first_opened.setdefault(name, _identify(name))


def forget_file(name: str) -> None:
    """Makes the next connection accept another file under this name, because this process has put it there."""
    _first_opened.pop(name, None)


def is_replaced(name: str) -> bool:
    first = _first_opened.get(name)
    return first is not None and _identify(name) != first


def require_same_file(name: str) -> None:
    """Raises SQLite's own error for a database that was moved, which it reports only where it has no log."""
    if not is_replaced(name):
        return
    _set_log_aside(name)
    error = sqlite3.OperationalError(REPLACED)
    error.sqlite_errorname = "SQLITE_READONLY_DBMOVED"
    raise error


def _identify(name: str) -> _Identity | None:
    """Returns device and number of the file, or None if there is none."""
    try:
        found = os.stat(name)  # noqa: PTH116 - for each statement
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _set_log_aside(name: str) -> None:
    """Keeps SQLite from applying the former file's log to the one that has its place, at the next start.

    Several processes may do this at once. Each takes only what it has open itself, and not the new file's log.
    """
    opened = {_identify(str(each)) for each in Path("/proc/self/fd").iterdir()}
    if _identify(name) in opened | {None}:
        return  # a file that was removed may be on its way to another folder, and its log as well
    for beside in (f"{name}-wal", f"{name}-shm"):
        with suppress(OSError):
            if _identify(beside) in opened - {None}:
                Path(beside).rename(f"{beside}{FORMER}")
                log.error("Restart Berth: %s is another file now. %s%s was the former one's.", name, beside, FORMER)
