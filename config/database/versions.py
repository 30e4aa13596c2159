"""Compares the migrations of the database with those of the code."""

from dataclasses import dataclass

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.utils import Error


class DatabaseVersionError(CommandError):
    """The database belongs to another version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Names of migrations, such as `projects.0019_firewall_bars_agents`."""

    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def compare_migrations(database: BaseDatabaseWrapper | None = None) -> Difference:
    """Returns the migrations that the database lacks, and those that this code does not know. Raises database errors.

    Ignores apps that are not installed, because they may have been removed.
    """
    loader = MigrationLoader(database or connection)
    known = set(loader.disk_migrations)
    for migration in loader.disk_migrations.values():
        known.update(migration.replaces)
    applied = set(loader.applied_migrations)
    unknown = {key for key in applied - known if key[0] in loader.migrated_apps}
    missing = set(loader.graph.nodes) - applied
    return Difference(missing=_names(missing), unknown=_names(unknown))


def refuse_newer_database(database: BaseDatabaseWrapper | None = None) -> None:
    """Raises `DatabaseVersionError` if a newer version has migrated the database, because this
    version could lose data.
    """
    unknown = compare_migrations(database).unknown
    if unknown:
        raise DatabaseVersionError(
            f"A newer version of Berth has used this database ({unknown[-1]} is not part of {settings.BERTH_VERSION}). "
            "Nothing was changed. Run that version, or restore a backup made before it."
        )


def refuse_older_database() -> None:
    """Raises `DatabaseVersionError` if migrations are missing."""
    missing = compare_migrations().missing
    if missing:
        raise DatabaseVersionError(
            f"The database is not prepared for Berth {settings.BERTH_VERSION} ({missing[0]} is missing). "
            "Run `make upgrade`, or `manage.py prepare`, then run this again."
        )


def require_database_of_this_version() -> None:
    """Raises `DatabaseVersionError`. Ignores a database that does not answer, because /readyz reports it."""
    try:
        refuse_newer_database()
        refuse_older_database()
    except Error:
        return


def _names(keys: set[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(sorted(f"{app}.{name}" for app, name in keys))
