"""What a database of a release holds is there after the upgrade, as it was, and so is what a backup of it has.

Generated: a row for each value that each column of the release takes.
"""

import json
from collections.abc import Collection, Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db.migrations.loader import MigrationLoader
from pytest_django import DjangoDbBlocker, Settings

from config.backup.schema import Migration, archived_models, known, models_of, read_applied
from tests.chaos.commands.rewinding import Rewinding, rewinding_database
from tests.ports import reserve_port
from tests.upgrade.old_rows import Rows, fill, photograph
from tests.upgrade.releases import RELEASES, Release

pytestmark = [pytest.mark.timeout(900), pytest.mark.either_database]

GROWN = "projects_agenttype.settings_schema"
"""Of the type that ships: what an owner could set before, one still can."""

SETTLED = {
    "accounts_user.session_version", "projects_installation.held_because", "projects_installation.held_since",
    "projects_installation.backed_up_at", "projects_project.recreated_at",
}  # fmt: skip
"""What a restore changes on purpose (`settle_rows`)."""


@pytest.fixture
def rewinding(tmp_path: Path, settings: Settings, django_db_blocker: DjangoDbBlocker) -> Iterator[Rewinding]:
    settings.BERTH_DATA_DIR, settings.STATIC_ROOT = tmp_path, tmp_path / "static"
    settings.BERTH_PORT = reserve_port()
    with django_db_blocker.unblock(), rewinding_database(tmp_path) as made:
        yield made


def command(name: str, *arguments: object) -> str:
    said = StringIO()
    call_command(name, *map(str, arguments), stdout=said, stderr=said)
    return said.getvalue()


def differences(before: Rows, after: Rows) -> dict[str, str]:
    """What of each table and column is not as it was, with an example."""
    found = {}
    for table, rows in before.items():
        for key, row in rows.items():
            now = after.get(table, {}).get(key, {})
            for column, value in row.items():
                name = f"{table}.{column}"
                if now.get(column) != value and not (name == GROWN and _is_grown(value, now.get(column, "{}"))):
                    found[name] = f"{key}: {value} is now {now.get(column)}"
    return found


def _is_grown(before: str, after: str) -> bool:
    old, new = (json.loads(text).get("properties", {}) for text in (before, after))
    return set(old) < set(new)


@pytest.mark.rare(1)
@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.version)
def test_an_upgrade_and_a_restore_keep_every_value(release: Release, rewinding: Rewinding, tmp_path: Path) -> None:
    for leaf in release.migrations:
        call_command("migrate", *leaf, verbosity=0)
    fill(read_applied())
    before = photograph(read_applied())
    archive = tmp_path / "a.tar"
    if "projects_installation" in before:
        assert "is that of an older version, so it has no record of this" in command("backup", archive)
    else:
        with pytest.raises(CommandError, match=r"Nothing was written\. .*`make upgrade`"):
            command("backup", archive)
        assert not archive.exists()
    command("prepare", "--while-serving")
    assert differences(before, photograph(known())) == {}
    if not archive.exists():
        command("backup", archive)
    command("restore", archive, "--replace")
    kept = {model._meta.db_table for model in archived_models(known())}
    restored = {table: rows for table, rows in before.items() if table in kept}
    assert set(differences(restored, photograph(known()))) <= SETTLED


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.version)
def test_no_value_that_a_release_writes_has_lost_its_name(release: Release) -> None:
    graph = MigrationLoader(None).graph
    applied = {key for leaf in release.migrations for key in graph.forwards_plan(leaf)}
    lost = {name: old - now for name, now in choices(known()).items() if (old := choices(applied).get(name, now)) - now}
    assert lost == {}
    assert set(choices(applied)) <= set(choices(known()))


def choices(applied: Collection[Migration]) -> dict[tuple[str, str], set[str]]:
    """The values of each column that takes only some."""
    return {
        (model._meta.db_table, str(column.column)): {str(key) for key, _ in column.flatchoices}
        for model in models_of(applied)
        for column in model._meta.concrete_fields
        if column.choices
    }
