"""A migration from the last release at whose n-th change the disk is full, the database is away, or the process is
killed: a second run ends as if nothing had happened.

It does not use an engine, so an absent one does not matter.
"""

import random
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from pytest_django import DjangoDbBlocker, Settings

from tests.chaos.commands.killing import AWAY, FAULTS, READS, run_until_broken
from tests.chaos.commands.rewinding import Rewinding, rewinding_database
from tests.fakes.engine import MemoryEngine
from tests.sampling import Some
from tests.upgrade.releases import LAST

pytestmark = [pytest.mark.rare(10), pytest.mark.timeout(3600)]

POINTS = 4
"""Points of each fault in the long version. The short one takes one point of one fault."""


@pytest.fixture
def rewinding(tmp_path: Path, settings: Settings, django_db_blocker: DjangoDbBlocker) -> Iterator[Rewinding]:
    settings.BERTH_DATA_DIR = tmp_path
    with django_db_blocker.unblock(), rewinding_database(tmp_path) as made:
        yield made


def migrate(*leaf: str) -> None:
    call_command("migrate", *leaf, verbosity=0, interactive=False, stdout=StringIO(), stderr=StringIO())


def migrate_and_count() -> tuple[int, int]:
    """Returns the number of its statements, and how many of them changed something."""
    asked: list[str] = []

    def note(execute: object, sql: str, *rest: object) -> object:
        asked.append(sql)
        return execute(sql, *rest)  # type: ignore[operator]  # Django's own

    with connection.execute_wrapper(note):
        migrate()
    return len(asked), sum(not each.lstrip().startswith(READS) for each in asked)


@pytest.mark.rare(1)
def test_a_broken_upgrade_can_be_repeated(
    rewinding: Rewinding, engine: MemoryEngine, some: Some, is_long: bool
) -> None:
    for leaf in LAST.migrations:
        migrate(*leaf)
    rewinding.keep()
    every, changes = migrate_and_count()
    wanted = rewinding.photograph()
    chance, broken = random.Random(some.seed), 0
    for fault in FAULTS if is_long else [chance.choice(FAULTS)]:
        for at in sorted(chance.sample(range(1, every if fault == AWAY else changes), POINTS if is_long else 1)):
            rewinding.rewind()
            broken += run_until_broken(migrate, at=at, fault=fault)
            migrate()
            assert rewinding.photograph() == wanted, (fault, at)
    assert broken == (POINTS * len(FAULTS) if is_long else 1)
    assert engine.calls == []
