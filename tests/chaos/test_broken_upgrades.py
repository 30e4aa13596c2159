"""A migration from the last release at whose n-th change the disk is full, the database is away, or it is killed: run
again, it ends as if nothing had happened. On SQLite, where no transaction of the server helps.
"""

import random
import shutil
import sqlite3
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from pytest_django import DjangoDbBlocker, Settings

from tests.chaos.killing import FAULTS, run_until_broken
from tests.sampling import Some
from tests.upgrade.releases import LAST

pytestmark = [pytest.mark.one_database, pytest.mark.timeout(3600)]

POINTS = 4
"""Of each fault."""
CHANGES = 900
"""About as many as an upgrade makes."""


@pytest.fixture
def database(tmp_path: Path, settings: Settings, django_db_blocker: DjangoDbBlocker) -> Iterator[Path]:
    """A file that no other test knows."""
    settings.BERTH_DATA_DIR = tmp_path
    file = tmp_path / "upgraded.sqlite3"
    with django_db_blocker.unblock():
        if connection.vendor != "sqlite":
            pytest.skip("This is about SQLite.")
        connection.close()
        usual = connection.settings_dict["NAME"]
        connection.settings_dict["NAME"] = str(file)
        yield file
        connection.close()
        connection.settings_dict["NAME"] = usual


def migrate(*leaf: str) -> None:
    call_command("migrate", *leaf, verbosity=0, interactive=False, stdout=StringIO(), stderr=StringIO())


def photograph(file: Path) -> set[tuple[str, str]]:
    connection.close()
    with sqlite3.connect(file) as database:
        tables = database.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        applied = database.execute("SELECT app, name FROM django_migrations").fetchall()
    database.close()
    assert len(applied) == len(set(applied))
    return {*tables, *applied}


def test_an_upgrade_that_broke_is_run_again(database: Path, some: Some) -> None:
    for leaf in LAST.migrations:
        migrate(*leaf)
    connection.close()
    before = database.with_suffix(".before")
    shutil.copy2(database, before)
    migrate()
    wanted = photograph(database)
    chance, broken = random.Random(some.seed), 0
    for fault in FAULTS:
        for at in sorted(chance.sample(range(1, CHANGES), POINTS)):
            for left in database.parent.glob(f"{database.name}-*"):
                left.unlink()
            shutil.copy2(before, database)
            broken += run_until_broken(migrate, at=at, fault=fault)
            migrate()
            assert photograph(database) == wanted, (fault, at)
    assert broken > len(FAULTS)
