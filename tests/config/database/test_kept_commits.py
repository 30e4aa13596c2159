"""What was committed to SQLite before a call to the engine is on the disk by then, and survives a power cut."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db.utils import OperationalError

from config.database.sqlite.base import DatabaseWrapper

pytestmark = pytest.mark.one_database

Synced = list[tuple[str, int]]


@pytest.fixture
def database(tmp_path: Path) -> DatabaseWrapper:
    return DatabaseWrapper({"NAME": str(tmp_path / "db.sqlite3"), "OPTIONS": {}})


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Path]:
    """The log of a database in which something was committed, in the journal mode of this service."""
    connection = sqlite3.connect(tmp_path / "db.sqlite3")
    connection.executescript("PRAGMA journal_mode=WAL; CREATE TABLE t (a);")
    yield tmp_path / "db.sqlite3-wal"
    connection.close()


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> Synced:
    """The files that were synced to the disk, each with its size at that time."""
    found: Synced = []
    really = os.fsync

    def note(opened: int) -> None:
        found.append((Path(f"/proc/self/fd/{opened}").readlink().name, os.fstat(opened).st_size))
        really(opened)

    monkeypatch.setattr(os, "fsync", note)
    return found


def test_the_log_of_commits_is_on_the_disk_with_its_directory(
    database: DatabaseWrapper, written: Path, synced: Synced
) -> None:
    assert written.stat().st_size > 0
    database.keep_commits()
    assert synced[0] == (written.name, written.stat().st_size)
    assert [name for name, _ in synced] == [written.name, written.parent.name]


def test_without_a_log_there_is_nothing_to_do(database: DatabaseWrapper, synced: Synced) -> None:
    database.keep_commits()
    database.settings_dict["NAME"] = "file:memorydb_default?mode=memory&cache=shared"
    database.keep_commits()
    assert synced == []


def test_a_disk_that_fails_is_a_fault_of_the_database(
    database: DatabaseWrapper, written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OperationalError, match="disk I/O error"):
        database.keep_commits()
