"""Reads a whole SQLite database as of one moment, and replaces it in one step."""

import os
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from config.database.faults import InUseError
from config.database.limits import without_limits
from config.database.sqlite.replacement import forget_file
from config.environment.ownership import give_to_owner

DRAFT = ".restoring"
"""Suffix of the file that will replace the database."""

LOCK = 2.0
"""Seconds to wait for other processes."""

_BESIDE = ("-wal", "-shm", "-journal")


@contextmanager
def snapshot(connection: Any) -> Iterator[None]:
    """Everything read inside is from one moment. Writers are not blocked meanwhile (WAL)."""
    with without_limits(), connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")  # Django's own BEGIN would be IMMEDIATE, and block all writers
        try:
            yield
        finally:
            connection.connection.rollback()


@contextmanager
def replaced(connection: Any, *, tables: Collection[str], keep_schema: bool) -> Iterator[None]:  # noqa: ARG001 - all go
    """Inside, the connection leads to a new database, without tables or, with `keep_schema`, with those of the old one.

    At the end it replaces the old one. If the block raises or the process is killed, the old one stays as it was.
    Raises `InUseError` and `OSError`.
    """
    name = str(connection.settings_dict["NAME"])
    path, draft = Path(name), Path(name + DRAFT)
    connection.close()
    _make_draft(draft)
    if keep_schema:
        _copy_schema(path, draft)
    connection.settings_dict["NAME"] = str(draft)
    try:
        with without_limits():
            yield
            connection.check_constraints()
    except BaseException:
        connection.close()
        _remove(draft)
        raise
    finally:
        connection.close()
        connection.settings_dict["NAME"] = name
    _put_in_place(draft, path)
    forget_file(name)


def last_value(connection: Any, table: str, _column: str) -> int | None:
    """Returns the last number that the table has assigned, or None if it has assigned none."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        row = cursor.fetchone()
    return row[0] if row else None


def pass_over(connection: Any, table: str, _column: str, value: int) -> None:
    """Makes the table assign only numbers above this one."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE sqlite_sequence SET seq = max(seq, %s) WHERE name = %s", [value, table])
        if cursor.rowcount == 0:
            cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, value])


def _make_draft(draft: Path) -> None:
    """Creates an empty file that nobody else may read, replacing one that a killed process has left."""
    _remove(draft)
    forget_file(str(draft))
    draft.touch(mode=0o600)
    give_to_owner(draft, draft.parent)


def _put_in_place(draft: Path, path: Path) -> None:
    """Replaces the database by the draft, in one step that survives a loss of power."""
    try:
        _settle(draft)
        with suppress(sqlite3.DatabaseError):  # if the old one is damaged, nobody needs its journal
            _settle(path)
        for ending in _BESIDE:
            Path(f"{path}{ending}").unlink(missing_ok=True)
        draft.replace(path)
    finally:
        _remove(draft)
    with suppress(OSError):  # it has been replaced already
        _sync(path.parent, os.O_RDONLY | os.O_DIRECTORY)


def _copy_schema(source: Path, target: Path) -> None:
    wanted = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC"
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        for (sql,) in old.execute(wanted).fetchall():  # tables come before indexes
            new.execute(sql)
        new.executemany(
            "INSERT INTO django_migrations VALUES (?, ?, ?, ?)", old.execute("SELECT * FROM django_migrations")
        )
        new.commit()


def _settle(path: Path) -> None:
    """Moves everything into the one file, and syncs it to the disk. Raises `InUseError` if others have it open."""
    try:
        with closing(sqlite3.connect(path, timeout=LOCK, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise InUseError from error
        raise
    _sync(path, os.O_RDONLY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(draft: Path) -> None:
    for ending in ("", *_BESIDE):
        Path(f"{draft}{ending}").unlink(missing_ok=True)
