"""A whole database of SQLite: read as it was at one moment, and replaced in one step."""

import os
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from config.database.faults import InUseError
from config.database.limits import without_limits

DRAFT = ".restoring"
"""How the name of a file ends that is to take the place of the database."""

LOCK = 2.0
"""Seconds for which others are waited for."""

_BESIDE = ("-wal", "-shm", "-journal")


@contextmanager
def snapshot(connection: Any) -> Iterator[None]:
    """All that is read inside is of one moment. Who writes meanwhile is not held up (WAL)."""
    with without_limits(), connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")  # Django's own would be IMMEDIATE, and hold up all who write
        try:
            yield
        finally:
            connection.connection.rollback()


@contextmanager
def replaced(connection: Any, *, tables: Collection[str], keep_schema: bool) -> Iterator[None]:  # noqa: ARG001 - all go
    """Inside, the connection leads to a new database, without tables or, with `keep_schema`, with those of the old one.

    At the end it takes the place of the old one; where the block raises or the process is killed, the old one stays as
    it was. Raises `InUseError` and `OSError`.
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


def last_value(connection: Any, table: str, _column: str) -> int | None:
    """The last number that the table has given out; None where it gives out none, or has given out none yet."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        row = cursor.fetchone()
    return row[0] if row else None


def pass_over(connection: Any, table: str, _column: str, value: int) -> None:
    """The table gives out no number up to this one any more."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE sqlite_sequence SET seq = max(seq, %s) WHERE name = %s", [value, table])
        if cursor.rowcount == 0:
            cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, value])


def _make_draft(draft: Path) -> None:
    """An empty file that nobody else may read, in place of what a killed process has left."""
    _remove(draft)
    draft.touch(mode=0o600)
    owner = draft.parent.stat()
    if os.geteuid() == 0:  # an operator may be root where Berth is not
        os.chown(draft, owner.st_uid, owner.st_gid)


def _put_in_place(draft: Path, path: Path) -> None:
    """Replaces the database by the draft, in one step that outlasts a loss of power."""
    try:
        _settle(draft)
        with suppress(sqlite3.DatabaseError):  # the old one is damaged: nobody needs what its journal has
            _settle(path)
        for ending in _BESIDE:
            Path(f"{path}{ending}").unlink(missing_ok=True)
        draft.replace(path)
    finally:
        _remove(draft)
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
    """Everything into the one file, and that to the disk. Raises `InUseError` where others have it open."""
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
