"""A SQLite file that another one replaces is written no further, and its log does not spoil the other one."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError
from django.db.backends.sqlite3.base import DatabaseWrapper

from config.database.explanations import explain_fault
from config.database.faults import Fault, find_fault
from config.database.sqlite import base

pytestmark = [pytest.mark.one_database]

FEW, MORE = 200, 1000
"""Rows of the copy, and rows that are only in the log of the former file."""


def connect(path: Path) -> DatabaseWrapper:
    options = {
        "transaction_mode": "IMMEDIATE", "timeout": 1,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }  # fmt: skip
    chosen = settings.DATABASES["default"] | {"ENGINE": "config.database.sqlite", "NAME": str(path), "OPTIONS": options}
    return base.DatabaseWrapper(chosen, alias="default")


def insert(connection: DatabaseWrapper, first: int, count: int) -> None:
    with connection.cursor() as cursor:
        for number in range(first, first + count):
            cursor.execute("INSERT INTO words VALUES (%s, %s)", [number, f"word {number}" * 20])


def replace(database: Path, copy: Path) -> None:
    copy.replace(database)


def remove_and_copy(database: Path, copy: Path) -> None:
    database.unlink()
    shutil.copyfile(copy, database)


def move_away_and_move(database: Path, copy: Path) -> None:
    database.rename(database.with_name("kept"))
    copy.rename(database)


def lead_elsewhere(database: Path, copy: Path) -> None:
    draft = database.with_name("link")
    draft.symlink_to(copy)
    draft.replace(database)


def read(connection: DatabaseWrapper) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM words")


def write(connection: DatabaseWrapper) -> None:
    insert(connection, 10_000, 1)


def connect_again(connection: DatabaseWrapper) -> None:
    other = connect(Path(connection.settings_dict["NAME"]))
    other.ensure_connection()


def begin(connection: DatabaseWrapper) -> None:
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)


WAYS: list[Callable[[Path, Path], None]] = [replace, remove_and_copy, move_away_and_move, lead_elsewhere]
STATEMENTS: list[Callable[[DatabaseWrapper], None]] = [read, write, connect_again, begin]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "berth.sqlite3"


@pytest.fixture
def opened(database: Path, django_db_blocker: Any) -> Iterator[DatabaseWrapper]:
    """Has a copy of its first rows beside it, and all others in its log."""
    with django_db_blocker.unblock(), closing(connect(database)) as connection:
        with connection.cursor() as cursor:
            cursor.execute("CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT)")
            insert(connection, 0, FEW)
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copyfile(database, copy_of(database))
        insert(connection, FEW, MORE)
        yield connection


def copy_of(database: Path) -> Path:
    return database.with_name("copy")


def rows_of(database: Path) -> tuple[str, int]:
    """Whether the file is whole, as a new process finds it, and the number of its rows."""
    with closing(sqlite3.connect(database)) as other:
        ((whole,),) = other.execute("PRAGMA integrity_check").fetchall()
        ((count,),) = other.execute("SELECT count(*) FROM words").fetchall()
    return whole, count


@pytest.mark.parametrize(("replace_it", "use"), [*product(WAYS, STATEMENTS)])
def test_the_former_file_is_used_no_further_and_the_other_one_stays_whole(
    replace_it: Callable[[Path, Path], None],
    use: Callable[[DatabaseWrapper], None],
    database: Path,
    opened: DatabaseWrapper,
) -> None:
    replace_it(database, copy_of(database))
    for _ in range(2):
        with pytest.raises(OperationalError) as caught:
            use(opened)
        assert find_fault(caught.value) is Fault.REPLACED
        assert "Nothing more is written to the former one" in explain_fault(caught.value)
    opened.close()
    assert rows_of(database) == ("ok", FEW)


def test_the_log_of_the_new_file_stays(database: Path, opened: DatabaseWrapper) -> None:
    replace(database, copy_of(database))
    with pytest.raises(OperationalError):
        read(opened)
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("INSERT INTO words VALUES (10000, 'new')")
        with pytest.raises(OperationalError):
            read(opened)
        assert Path(f"{database}-wal").exists()
        assert rows_of(database) == ("ok", FEW + 1)


def test_a_removed_file_that_returns_with_its_log_is_whole(database: Path, opened: DatabaseWrapper) -> None:
    kept = database.with_name("kept")
    database.rename(kept)
    with pytest.raises(OperationalError):
        read(opened)
    kept.rename(database)
    read(opened)
    opened.close()
    assert rows_of(database) == ("ok", FEW + MORE)


def test_a_former_log_can_be_set_aside_again(database: Path, opened: DatabaseWrapper) -> None:
    """Someone may replace the file twice."""
    Path(f"{database}-wal.former").write_text("of an earlier time")
    replace(database, copy_of(database))
    with pytest.raises(OperationalError):
        read(opened)
    assert sorted(path.name for path in database.parent.iterdir()) == [
        "berth.sqlite3", "berth.sqlite3-shm.former", "berth.sqlite3-wal.former",
    ]  # fmt: skip
