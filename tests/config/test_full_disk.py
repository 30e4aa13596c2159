"""If a disk is full or read-only, `prepare` says so in one sentence without a traceback."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.core.management.commands import migrate
from django.db import DatabaseError, connection

from config.management.commands import prepare

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def _the_port_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "require_port_of_role", lambda: None)


SPACE, RIGHTS = "Free some space, then run this again", "Run this as the user who runs Berth"


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.ENOSPC, SPACE), (errno.EDQUOT, SPACE), (errno.EROFS, RIGHTS), (errno.EACCES, RIGHTS)],
)
@pytest.mark.parametrize("step", ["migrate", "createcachetable", "collectstatic"])
def test_an_unwritable_file_is_reported_in_one_sentence(
    number: int, advice: str, step: str, monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path
) -> None:
    settings.BERTH_DATA_DIR = tmp_path

    def run(command: str, **_: Any) -> None:
        if command == step:
            raise OSError(number, os.strerror(number), str(tmp_path / "a file"))

    monkeypatch.setattr(prepare, "call_command", run)
    monkeypatch.setattr(prepare, "check_keys", lambda: None)
    with pytest.raises(CommandError, match=advice) as raised:
        call_command("prepare")
    assert os.strerror(number) in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "static.digest").exists()


@pytest.fixture
def full_database() -> Iterator[Callable[..., None]]:
    """Writes, with SQLite's own error for a database that may not grow."""

    def fill(*_: Any, **__: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA max_page_count = 1")
            cursor.execute("CREATE TABLE filler AS SELECT zeroblob(10000000) AS what")

    yield fill
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA max_page_count = 1073741823")


def test_a_full_database_is_reported_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, full_database: Callable[..., None]
) -> None:
    monkeypatch.setattr(prepare, "call_command", full_database)
    with pytest.raises(CommandError, match=r"no space left|disk of the database is full"):
        call_command("prepare")


def test_migrate_alone_reports_a_full_database_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, full_database: Callable[..., None]
) -> None:
    monkeypatch.setattr(migrate.Command, "handle", full_database)
    with pytest.raises(CommandError, match="The disk of the database is full"):
        call_command("migrate")


def test_a_cache_table_that_cannot_be_made_is_reported_as_the_database_reports_it(
    monkeypatch: pytest.MonkeyPatch, full_database: Callable[..., None]
) -> None:
    """Django's command says it in two lines."""

    def run(command: str, **_: Any) -> None:
        if command == "createcachetable":
            try:
                full_database()
            except DatabaseError as error:
                message = f"Cache table 'cache' could not be created.\nThe error was: {error}."
                raise CommandError(message)  # noqa: B904 - as Django does

    monkeypatch.setattr(prepare, "call_command", run)
    with pytest.raises(CommandError, match=r"^The disk of the database is full\. Free some space"):
        call_command("prepare")


def test_a_scrambled_digest_of_the_static_files_is_replaced(
    monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path
) -> None:
    """As a power cut may leave it. `make run` and `make upgrade` broke off with a traceback."""
    settings.BERTH_DATA_DIR, settings.STATIC_ROOT = tmp_path, tmp_path
    called: list[str] = []
    monkeypatch.setattr(prepare, "call_command", lambda name, **_: called.append(name))
    monkeypatch.setattr(prepare, "digest_static_files", lambda: "of this version")
    (tmp_path / "static.digest").write_bytes(b"\xf5\0" * 32)
    for _ in range(2):
        prepare.Command()._collect_static(clear=False)
    assert called == ["collectstatic"]
    assert (tmp_path / "static.digest").read_text() == "of this version"
