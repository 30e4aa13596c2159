"""The tables of a database, as determined by the migrations that were applied to it."""

from collections.abc import Callable, Collection
from functools import cache
from types import ModuleType
from typing import Any

from django.conf import settings
from django.db import connection, models
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from config.backup.errors import BackupError
from config.database.postgresql import copies as postgresql
from config.database.sqlite import copies as sqlite

Migration = tuple[str, str]

OF_ONE_MACHINE = {
    *("projects.watch", "projects.enginehost", "projects.gateway", "projects.longrequest"),
    *("projects.sample", "sessions.session", "projects.alertdelivery", "projects.trouble", "accounts.opensession"),
    *("projects.servicetrouble", "projects.batch", "projects.batchitem"),
}
"""Not in an archive: the leading watcher, the engine's machine and its gateway, requests in progress, the agents' use
of the machine by the minute, who is signed in, waiting alerts, current troubles, and the progress of staff actions on
many projects."""


def copies() -> ModuleType:
    """Returns the module that reads and replaces whole databases of the current kind."""
    return postgresql if connection.vendor == "postgresql" else sqlite


def read_applied() -> set[Migration]:
    """Returns the migrations that were applied; none if the database is empty."""
    return set(MigrationRecorder(connection).applied_migrations())


@cache
def _loader() -> MigrationLoader:
    """Loads the migrations of this version, without asking a database which ones it has."""
    return MigrationLoader(None)


def known() -> set[Migration]:
    """Returns every migration of this version."""
    return set(_loader().disk_migrations)


def models_of(applied: Collection[Migration]) -> list[type[models.Model]]:
    """Returns the models as of these migrations, including the automatic tables of many-to-many relations."""
    return _models_of(frozenset(applied))


@cache
def _models_of(applied: frozenset[Migration]) -> list[type[models.Model]]:
    state = _loader().project_state(_last_of(applied))
    found: list[type[models.Model]] = state.apps.get_models(include_auto_created=True)
    return sorted(
        (model for model in found if model._meta.managed and not model._meta.proxy),
        key=lambda model: model._meta.label_lower,
    )


def archived_models(applied: Collection[Migration]) -> list[type[models.Model]]:
    return [model for model in models_of(applied) if model._meta.label_lower not in OF_ONE_MACHINE]


def tables_of(applied: Collection[Migration]) -> set[str]:
    """Returns all tables of Berth in a database to which these migrations were applied."""
    own = {model._meta.db_table for model in models_of(applied)} if applied else set()
    return own | {MigrationRecorder.Migration._meta.db_table, settings.CACHES["default"]["LOCATION"]}


def migrate_to(applied: Collection[Migration] | None = None, *, report: Callable[[str], None] = lambda _: None) -> None:
    """Applies these migrations, by default all of this version, to the current database."""
    if read_applied() == (known() if applied is None else set(applied)):
        return
    executor = MigrationExecutor(connection, lambda *what: _report(report, *what))
    executor.migrate(executor.loader.graph.leaf_nodes() if applied is None else _last_of(applied))


def require_known(applied: Collection[Migration], *, what: str) -> None:
    """Raises `BackupError` if a newer version created it."""
    if unknown := sorted(set(applied) - known()):
        raise BackupError(
            f"{what} is from a newer version of Berth than this one, which does not know the migration "
            f"{unknown[0][0]}.{unknown[0][1]}. Install that version first."
        )


def _last_of(applied: Collection[Migration]) -> list[Migration]:
    """Returns the migrations on which no other one depends."""
    wanted = set(applied)
    needed = {parent.key for key in wanted for parent in _loader().graph.node_map[key].parents}
    return sorted(wanted - needed)


def _report(report: Callable[[str], None], action: str, migration: Any = None, _fake: bool = False) -> None:  # noqa: FBT001, FBT002 - Django's signature
    if action == "apply_start":
        # PostgreSQL refuses to change tables with deferred checks that are still to be made.
        connection.check_constraints()
        report(f"… Migrating {migration.app_label}.{migration.name}")
