"""A SQLite file that cannot be used is explained by what is wrong with it. SQLite itself only says that it failed."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db.utils import Error

from config.backup import create
from config.backup.errors import BackupError
from config.database import explanations
from config.database.explanations import explain_fault
from tests.config.database.test_faults import of_sqlite
from tests.config.database.test_replaced_file import connect, write

pytestmark = [pytest.mark.one_database]

NO_FILE = "It is no file. Put the database back, or correct DATABASE_URL or BERTH_DATA_DIR."
OTHERS: dict[str, Callable[[Path], object]] = {
    "folder": os.mkdir, "pipe": os.mkfifo, "link to nothing": lambda path: path.symlink_to("/nowhere/x"),
    "link to a folder": lambda path: path.symlink_to("/etc"), "null": lambda path: path.symlink_to("/dev/null"),
}  # fmt: skip
ERRORS = {
    errno.ENOSPC: "Free some space, then run this again.", errno.EDQUOT: "Free some space, then run this again.",
    errno.EROFS: "Run this as the user who runs Berth, where that user may write.",
    errno.EACCES: "Run this as the user who runs Berth, where that user may write.",
    0: "Check its disk, then run this again.",
}  # fmt: skip
OF_SQLITE = ["SQLITE_IOERR_SHMSIZE", "SQLITE_IOERR_WRITE", "SQLITE_CANTOPEN", "SQLITE_READONLY_DIRECTORY"]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "berth.sqlite3"
    monkeypatch.setattr(explanations, "connection", connect(path))
    return path


@pytest.mark.parametrize("other", OTHERS)
def test_something_else_in_the_place_of_the_file_is_named(
    other: str, database: Path, django_db_blocker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    OTHERS[other](database)
    with django_db_blocker.unblock(), pytest.raises(Error) as caught:
        write(connect(database))
    said = explain_fault(caught.value)
    assert said.startswith(f"The database {database} cannot be used (")
    assert said.endswith(NO_FILE)
    assert "server" not in said
    monkeypatch.setattr(create, "read_applied", lambda: explode(caught.value))
    with pytest.raises(BackupError, match=r"Nothing was written\. .* It is no file"):
        create._prepare()


def explode(error: Exception) -> None:
    raise error


@pytest.mark.parametrize("name", OF_SQLITE)
@pytest.mark.parametrize("number", ERRORS)
@pytest.mark.parametrize("exists", [True, False])
def test_a_disk_that_is_full_or_read_only_is_named(
    number: int, name: str, exists: bool, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if exists:
        database.touch()
    if number:
        refusal = OSError(number, os.strerror(number))
        monkeypatch.setattr(explanations, "_try_to_write", lambda _: explode(refusal))
    error = of_sqlite(name, text="disk I/O error")
    assert isinstance(error, Error)
    assert explain_fault(error) == f"The database {database} cannot be used (disk I/O error). {ERRORS[number]}"
    assert list(database.parent.iterdir()) == ([database] if exists else [])


@pytest.mark.parametrize(
    ("name", "text", "advice"),
    [
        ("SQLITE_BUSY", "database is locked", "Run this again when that has finished."),
        ("SQLITE_LOCKED", "database table is locked", "Run this again when that has finished."),
        ("SQLITE_ERROR", "no such table: accounts_user", "`manage.py prepare`, then run this again."),
    ],
)
def test_no_advice_is_about_a_server(name: str, text: str, advice: str, database: Path) -> None:
    error = of_sqlite(name, text=text)
    assert isinstance(error, Error)
    said = explain_fault(error)
    assert said.startswith(f"The database {database} cannot be used ({text}). ")
    assert said.endswith(advice)


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("other", OTHERS)
def test_something_else_in_the_place_of_the_log_is_named(ending: str, other: str, database: Path) -> None:
    beside = database.with_name(f"{database.name}{ending}")
    OTHERS[other](beside)
    error = of_sqlite("SQLITE_CANTOPEN", text="unable to open database file")
    assert isinstance(error, Error)
    assert explain_fault(error).endswith(f"{beside} is no file. Move it away, then run this again.")
