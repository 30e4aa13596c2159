"""An archive is restored into the other kind of database, into an empty one, by a later version, and by root."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import StringIO
from pathlib import Path
from typing import Any, cast

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.utils import load_backend

from accounts.models import User
from config.backup.schema import known, migrate_to, models_of, read_applied
from config.environment.servers import SQLITE
from projects.models import Project
from tests.config.backup.conftest import Run
from tests.config.backup.rows import MOMENT, fill_every_table, photograph
from tests.migrated import migrated

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def on_an_empty_sqlite(path: Path) -> Iterator[None]:
    """The current database is that file."""
    usual: Any = connections["default"]
    options = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 12,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
    }
    values = {**usual.settings_dict, "ENGINE": SQLITE, "NAME": str(path), "OPTIONS": options}
    connections["default"] = load_backend(SQLITE).DatabaseWrapper(values, "default")
    try:
        yield
    finally:
        connections["default"].close()
        connections["default"] = usual


@pytest.fixture
def migrated_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty database gets copies of the tables, for tests that are not about creating them."""

    def fill(applied: Any = None, *, report: Any) -> None:
        if not connection.introspection.table_names():
            with closing(sqlite3.connect(migrated())) as made:
                made.backup(cast("sqlite3.Connection", connection.connection))
        migrate_to(applied, report=report)

    monkeypatch.setattr("config.backup.restore.migrate_to", fill)


@pytest.mark.rare(2)
@pytest.mark.either_database
def test_a_backup_moves_to_a_database_of_the_other_kind_and_back(archive: Path, folder: Path, run: Run) -> None:
    """The restore into SQLite starts with an empty file, whose tables the migrations create."""
    fill_every_table()
    before = photograph()
    run("backup", archive)
    with on_an_empty_sqlite(folder / "berth.sqlite3"):
        assert "The database will be filled." in run("restore", archive)
        assert photograph() == before
        assert read_applied() == known()
        run("backup", folder / "again.tar")
    assert sorted(path.name for path in folder.glob("berth.sqlite3*")) == ["berth.sqlite3"]
    assert (folder / "berth.sqlite3").stat().st_mode & 0o777 == 0o600
    User.objects.update(is_active=False)
    run("restore", folder / "again.tar", "--replace")
    assert photograph() == before


@contextmanager
def on_older_tables(path: Path) -> Iterator[None]:
    """The current database is that file, with the tables of an older version. Migrating back would take far longer."""
    with on_an_empty_sqlite(path):
        executor = MigrationExecutor(connection)
        others = [leaf for leaf in executor.loader.graph.leaf_nodes() if leaf[0] != "projects"]
        executor.migrate([*others, ("projects", "0016_unconfirmed_bots")])
        yield


@pytest.mark.rare(2)
@pytest.mark.either_database
def test_an_older_archive_is_migrated(archive: Path, folder: Path, run: Run) -> None:
    """It also replaces a database of the current version."""
    with on_older_tables(folder / "older.sqlite3"):
        assert read_applied() < known()
        models = {model._meta.label: model for model in models_of(read_applied())}
        models["accounts.User"]._default_manager.create(email="alice@example.org", password="x", date_joined=MOMENT)
        models["projects.Installation"]._default_manager.update_or_create(pk=1, defaults={"identifier": "a" * 32})
        run("backup", archive)
    User.objects.create(email="bob@example.org")
    said = run("restore", archive, "--replace")
    assert "migrations follow" in said
    assert read_applied() == known()
    assert list(User.objects.values_list("email", "date_joined")) == [("alice@example.org", MOMENT)]
    assert not Project.objects.exists()


def test_a_database_of_a_newer_version_is_left_alone(archive: Path, run: Run) -> None:
    fill_every_table()
    run("backup", archive)
    recorder = MigrationExecutor(connection).recorder
    recorder.record_applied("projects", "9999_later")
    try:
        for command in (["restore", archive, "--replace"], ["backup", archive]):
            with pytest.raises(CommandError, match=r"The database is from a newer version .* projects\.9999_later"):
                run(*command)
    finally:
        recorder.record_unapplied("projects", "9999_later")


@pytest.mark.one_database
@pytest.mark.usefixtures("migrated_at_once")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_restored_by_root_belong_to_the_owner_of_the_data_directory(
    archive: Path, folder: Path, run: Run
) -> None:
    fill_every_table()
    run("backup", archive)
    os.chown(folder, 12_345, 12_345)
    with on_an_empty_sqlite(folder / "berth.sqlite3"):
        run("restore", archive)
    assert {(folder / name).stat().st_uid for name in ("berth.sqlite3", "restore.json", "restore.lock")} == {12_345}


def test_a_database_that_others_use_stays_theirs(
    archive: Path, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing has changed, so Berth may start again."""
    monkeypatch.setattr("config.database.sqlite.copies.LOCK", 0.1)
    monkeypatch.setattr("config.database.postgresql.copies.LOCK", "100ms")
    fill_every_table()
    run("backup", archive)
    before = photograph()
    other = connection.copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM accounts_user")
            with pytest.raises(CommandError, match="Something else uses the database"):
                run("restore", archive, "--replace")
    finally:
        other.close()
    assert photograph() == before
    assert not (folder / "restore.json").exists()
    run("restore", archive, "--replace")


@pytest.mark.one_database
@pytest.mark.usefixtures("migrated_at_once")
def test_a_damaged_database_is_replaced_if_asked(archive: Path, folder: Path, run: Run) -> None:
    """A damaged database may be the reason for the restore."""
    fill_every_table()
    before = photograph()
    run("backup", archive)
    (folder / "berth.sqlite3").write_bytes(b"SQLite format 3\0" + b"\xff" * 9000)
    with on_an_empty_sqlite(folder / "berth.sqlite3"):
        with pytest.raises(CommandError, match="it contains something that cannot be read"):
            run("restore", archive)
        run("restore", archive, "--replace")
        assert photograph() == before


def test_output_is_for_people(archive: Path) -> None:
    fill_every_table()
    output = StringIO()
    call_command("backup", str(archive), stdout=output)
    assert "It is useless without the keys" in output.getvalue()
