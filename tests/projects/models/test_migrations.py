"""What migrations do to existing rows, on the database in use.

Migrating back to the older tables takes seconds, so it is done once for all tests of this module.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from accounts.models import User
from tests.clients import make_person
from tests.people import email_of

pytestmark = [pytest.mark.either_database, pytest.mark.rare(3)]

BEFORE, AFTER = ("projects", "0015_allowances"), ("projects", "0016_unconfirmed_bots")
Migrate = Callable[[tuple[str, str]], Any]

CIPHERTEXT = "gAAAAA-of-a-token"
ROWS: dict[str, tuple[dict[str, Any], bool]] = {
    "a bot whose name Telegram never told": ({"bot_id": 1, "telegram_token_ciphertext": CIPHERTEXT}, True),
    "one that is stopped": ({"bot_id": 2, "telegram_token_ciphertext": CIPHERTEXT, "desired": "stopped"}, True),
    "one that is being deleted": ({"bot_id": 3, "telegram_token_ciphertext": CIPHERTEXT, "desired": "deleted"}, True),
    "one that is suspended": (
        {"bot_id": 4, "telegram_token_ciphertext": CIPHERTEXT, "suspended_at": timezone.now()},
        True,
    ),
    "a bot with a name": ({"bot_id": 5, "telegram_token_ciphertext": CIPHERTEXT, "bot_username": "a_bot"}, False),
    "a bot without a token": ({"bot_id": 6, "telegram_token_ciphertext": ""}, False),
    "a token without a bot": ({"bot_id": None, "telegram_token_ciphertext": CIPHERTEXT}, False),
    "neither": ({"bot_id": None, "telegram_token_ciphertext": ""}, False),
    "the largest id": ({"bot_id": 2**53, "telegram_token_ciphertext": CIPHERTEXT}, True),
}


@pytest.fixture(scope="module")
def migrate(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Migrate]:
    """Migrates to a state and returns its models. At the end all migrations are applied again."""
    models: dict[tuple[str, str], Any] = {}

    def to(state: tuple[str, str]) -> Any:
        MigrationExecutor(connection).migrate([state])
        if state not in models:
            models[state] = MigrationExecutor(connection).loader.project_state([state]).apps
        return models[state]

    with django_db_blocker.unblock():
        yield to
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())
        User.objects.filter(email=email_of("alice")).delete()
        connection.close()


@pytest.fixture
def older_tables(migrate: Migrate) -> Iterator[Any]:
    """Returns the older models, over tables without rows of their own."""
    models = migrate(BEFORE)
    yield models
    for name, added in (("Project", {}), ("Plan", {"slug": "p"}), ("AgentType", {"slug": "t"})):
        models.get_model("projects", name).objects.filter(**added).delete()


def add(models: Any, name: str, **fields: Any) -> Any:
    """Inserts a project. Returns its id."""
    owner = User.objects.first() or make_person("alice")
    plan, _ = models.get_model("projects", "Plan").objects.get_or_create(
        slug="p", defaults={"memory_mb": 64, "cpus": "0.10", "max_projects": 99}
    )
    agent_type, _ = models.get_model("projects", "AgentType").objects.get_or_create(
        slug="t", defaults={"title": "T", "image": "i"}
    )
    rows = models.get_model("projects", "Project").objects
    values = {"owner_id": owner.pk, "plan_id": plan.pk, "agent_type_id": agent_type.pk, "instance": "berth"}
    return rows.create(id=uuid4(), name=name, **values, **fields).pk


def unconfirmed_of(models: Any) -> dict[Any, datetime | None]:
    rows = models.get_model("projects", "Project").objects
    return dict(rows.values_list("pk", "bot_unconfirmed_at"))


def test_bots_that_were_never_checked_are_asked_about_and_no_others(older_tables: Any, migrate: Migrate) -> None:
    ids = {name: add(older_tables, name, **fields) for name, (fields, _) in ROWS.items()}
    began = timezone.now()
    found = unconfirmed_of(migrate(AFTER))
    assert {name for name, pk in ids.items() if found[pk] is not None} == {
        name for name, (_, is_asked_about) in ROWS.items() if is_asked_about
    }
    assert all(began <= at <= timezone.now() for at in found.values() if at is not None)


def test_nothing_else_of_a_row_changes(older_tables: Any, migrate: Migrate) -> None:
    for name, (fields, _) in ROWS.items():
        add(older_tables, name, **fields)
    before = {row["id"]: row for row in older_tables.get_model("projects", "Project").objects.values()}
    after = {row["id"]: row for row in migrate(AFTER).get_model("projects", "Project").objects.values()}
    for row in after.values():
        del row["bot_unconfirmed_at"]
    assert after == before


def test_an_empty_table_is_migrated_too(older_tables: Any, migrate: Migrate) -> None:
    assert unconfirmed_of(migrate(AFTER)) == {}


def test_the_constraint_accepts_the_same_values_as_before(older_tables: Any, migrate: Migrate) -> None:
    """A bot of a live project, and the same one of a project that is being deleted.
    Two confirmed ones are refused as before."""
    add(older_tables, "live", bot_id=7, telegram_token_ciphertext=CIPHERTEXT, bot_username="a_bot")
    add(older_tables, "going", bot_id=7, telegram_token_ciphertext=CIPHERTEXT, bot_username="a_bot", desired="deleted")
    new = migrate(AFTER)
    assert len(unconfirmed_of(new)) == 2
    claim = {"bot_id": 7, "telegram_token_ciphertext": CIPHERTEXT}
    with pytest.raises(IntegrityError), transaction.atomic():
        add(new, "second", **claim)
    add(new, "unconfirmed", **claim, bot_unconfirmed_at=timezone.now())


def test_an_old_server_keeps_working_while_the_new_one_migrates(older_tables: Any, migrate: Migrate) -> None:
    """It does not know the new column, and inserts rows without it."""
    new = migrate(AFTER)
    pk = add(older_tables, "late", bot_id=8, telegram_token_ciphertext=CIPHERTEXT)
    assert unconfirmed_of(new)[pk] is None
    older_tables.get_model("projects", "Project").objects.filter(pk=pk).update(name="changed")


def test_the_migration_can_be_repeated(older_tables: Any, migrate: Migrate) -> None:
    """As after a migration that was interrupted on a database that keeps finished parts."""
    pk = add(older_tables, "asked about", bot_id=9, telegram_token_ciphertext=CIPHERTEXT)
    first = unconfirmed_of(migrate(AFTER))[pk]
    migrate(BEFORE)
    second = unconfirmed_of(migrate(AFTER))[pk]
    assert first
    assert second
    assert second >= first
