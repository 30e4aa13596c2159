"""A database that another version of Berth has left: one sentence, and nothing is changed."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command, get_commands, load_command_class
from django.core.management.base import CommandError
from django.db import connection, connections
from django.db.migrations.recorder import MigrationRecorder
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from config.database.versions import (
    DatabaseVersionError,
    compare_migrations,
    refuse_older_database,
    require_database_of_this_version,
)
from config.management import command_line
from config.serving.supervision import children
from tests.config.valid_commands import ours
from tests.paths import ROOT
from tests.ports import reserve_port
from tests.upgrade.releases import RELEASES

pytestmark = pytest.mark.django_db

NEEDY = [
    *("adopt --dry-run", "changepassword alice@example.com", "ensure_admin", "migrate_engine --from unix:///nowhere"),
    *("quarantine list", "reconcile", "reload", "rotate_secrets", "serve", "test_type assistant", "watch"),
]
"""Commands that would meet tables which are not as this code knows them."""

FREE = {
    "backup": "writes the tables of an older version; refuses a newer one by itself",
    "build_images": "asks the engine only; before serving it refuses a newer database",
    "firewall": "prints rules, also for a machine whose database is not there yet",
    "migrate": "brings the database to this version; refuses a newer one by itself",
    "node": "prints rules, which depend on the installation's id only",
    "prepare": "brings the database to this version; refuses a newer one by itself",
    "push_images": "asks the engine and the registry",
    "restore": "replaces the database",
    "swarm": "asks the engine, with the installation's id",
    "uninstall": "removes what has the installation's id, from any version",
    "version": "asks nobody",
}
CHANGES = re.compile(r"\s*(INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|TRUNCATE|GRANT)\b", re.IGNORECASE)


@pytest.fixture(autouse=True)
def _free_port(settings: Settings) -> None:
    settings.BERTH_PORT = reserve_port()


@pytest.fixture
def newer() -> None:
    MigrationRecorder(connection).record_applied("projects", "9999_of_a_later_version")


@pytest.fixture
def older() -> None:
    MigrationRecorder(connection).record_unapplied(*RELEASES[0].migrations[1])


@pytest.fixture
def changes() -> Iterator[list[str]]:
    """The statements of the test that change something, once it is over."""
    found: list[str] = []
    with CaptureQueriesContext(connection) as captured:
        yield found
        assert [query["sql"] for query in captured.captured_queries if CHANGES.match(query["sql"])] == found


def run(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code, and what was said."""
    monkeypatch.setattr(sys, "argv", ["manage.py", *command.split()])
    monkeypatch.setattr(connections, "close_all", lambda: None)  # the test's transaction
    try:
        code = command_line.run()
    except SystemExit as ended:
        code = int(ended.code or 0)
    return code, capsys.readouterr().err


def test_every_command_declares_whether_it_needs_a_matching_database() -> None:
    needy = {
        name
        for name in ours()
        if getattr(load_command_class(get_commands()[name], name), "requires_current_database", False)
    }
    assert needy == {command.split()[0] for command in NEEDY}
    assert ours() - needy == set(FREE)


@pytest.mark.parametrize("command", [*NEEDY, "migrate", "prepare", "serve --prepare", "build_images --before-serving"])
def test_a_newer_database_is_reported_in_one_sentence_and_left_alone(
    command: str,
    newer: None,
    changes: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, said = run(command, monkeypatch, capsys)
    assert code == 1
    assert "A newer version of Berth has used this database (projects.9999_of_a_later_version" in said
    assert "Traceback" not in said
    assert len(said.strip().splitlines()) == 1


@pytest.mark.parametrize("command", NEEDY)
def test_an_older_database_is_reported_in_one_sentence_and_left_alone(
    command: str,
    older: None,
    changes: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, said = run(command, monkeypatch, capsys)
    assert code == 1
    assert "The database is not prepared for Berth" in said
    assert "make upgrade" in said
    assert len(said.strip().splitlines()) == 1


@pytest.mark.parametrize("state", ["newer", "older"])
@pytest.mark.parametrize("command", [command.split()[0] for command in NEEDY])
def test_help_works_with_any_database(
    command: str,
    state: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    request.getfixturevalue(state)
    assert run(f"{command} --help", monkeypatch, capsys)[0] == 0


def test_a_database_of_this_version_is_accepted() -> None:
    assert compare_migrations().missing == compare_migrations().unknown == ()
    require_database_of_this_version()


def test_migrations_of_a_removed_app_do_not_count_as_newer() -> None:
    MigrationRecorder(connection).record_applied("taken_away", "0007_last")
    require_database_of_this_version()


def test_a_watcher_waits_for_the_migrations_of_its_version(older: None) -> None:
    """The files of the new version may be there before them, and `serve` starts a dead watcher again."""
    with pytest.raises(DatabaseVersionError, match="not prepared"):
        children.run_watcher(None)  # type: ignore[arg-type]  # it does not come so far


def test_a_watcher_of_the_old_version_keeps_working_with_new_tables(newer: None) -> None:
    refuse_older_database()


def test_a_database_that_does_not_answer_is_left_to_readiness(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Any:
        from django.db import OperationalError

        raise OperationalError("the server is away")

    monkeypatch.setattr("config.database.versions.MigrationLoader", refuse)
    require_database_of_this_version()


def test_going_back_by_name_stays_possible_for_developers(newer: None) -> None:
    call_command("migrate", "contenttypes", plan=True, verbosity=0)
    with pytest.raises(CommandError):
        call_command("migrate", plan=True, verbosity=0)


def test_the_documents_say_what_to_do() -> None:
    assert "backup" in Path(ROOT / "UPGRADING.md").read_text()
