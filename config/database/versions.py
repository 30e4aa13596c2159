"""Whether the database is of this version: its migrations are those of the code, fewer, or more."""

from dataclasses import dataclass

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.utils import Error


class DatabaseVersionError(CommandError):
    """The database is not of this version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Names of migrations, such as `projects.0019_firewall_bars_agents`."""

    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def compare_migrations(database: BaseDatabaseWrapper | None = None) -> Difference:
    """What the database lacks, and what it has that this code does not know. Raises Django's errors of databases.

    Of apps that are not installed nothing is said: they may have been taken away.
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
    """Raises `DatabaseVersionError` where a newer version has migrated it: this one may lose what it holds."""
    unknown = compare_migrations(database).unknown
    if unknown:
        raise DatabaseVersionError(
            f"A newer version of Berth has used this database ({unknown[-1]} is not of {settings.BERTH_VERSION}). "
            "Nothing was changed. Run that version, or restore a backup from before it."
        )


def refuse_older_database() -> None:
    """Raises `DatabaseVersionError` where migrations are missing."""
    missing = compare_migrations().missing
    if missing:
        raise DatabaseVersionError(
            f"The database is not prepared for Berth {settings.BERTH_VERSION} ({missing[0]} is missing). "
            "Run `make upgrade`, or `manage.py prepare`, and then this again."
        )


def require_database_of_this_version() -> None:
    """Raises `DatabaseVersionError`. Says nothing of a database that does not answer: /readyz does."""
    try:
        refuse_newer_database()
        refuse_older_database()
    except Error:
        return


def _names(keys: set[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(sorted(f"{app}.{name}" for app, name in keys))
