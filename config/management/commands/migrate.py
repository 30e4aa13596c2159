"""Django's `migrate`, while servers of the previous version keep running.

Only one process at a time migrates. A statement may take as long as it needs, but waits only briefly for a lock,
because every later query of the same table waits behind it. Then it lets them pass, and tries again.
"""

import time
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.exceptions import MigrationSchemaMissing
from django.db.migrations.recorder import MigrationRecorder
from django.db.utils import Error as DatabaseError

from config.database.faults import Fault, find_fault
from config.database.limits import without_limits
from config.database.migration_lock import migration_lock
from config.database.versions import refuse_newer_database
from config.management.full_disk import explain_full_disk

TRIES_FOR = 600.0
"""Seconds after which a migration that does not get its locks is abandoned. Earlier ones are done."""

PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds between attempts. The last value applies to all further ones."""


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        connection: Any = connections[options["database"]]
        with explain_full_disk(), migration_lock(connection):
            if not options["app_label"]:
                refuse_newer_database(connection)
            self._migrate_patiently(connection, args, options)

    def _migrate_patiently(self, connection: Any, args: Any, options: dict[str, Any]) -> None:
        """Repeats until all migrations are applied. Each is applied completely or not at all, so an attempt continues
        after the last one that succeeded.

        The pauses grow while one migration fails, and start from the shortest again for the next one.
        """
        until, tries, done, is_reported = 0.0, 0, -1, False
        while not self._try_to_migrate(connection, args, options):
            if (applied := len(MigrationRecorder(connection).applied_migrations())) > done:
                until, tries, done = time.monotonic() + TRIES_FOR, 0, applied
            if time.monotonic() > until:
                raise CommandError(
                    "A table could not be migrated, because another transaction keeps it locked. Completed migrations "
                    "are kept. End the long transaction (PostgreSQL lists it in pg_stat_activity), then run this again."
                )
            if not is_reported:
                self.stderr.write("… Waiting for a table that is in use")
                is_reported = True
            time.sleep(PAUSES[min(tries, len(PAUSES) - 1)])
            tries += 1

    def _try_to_migrate(self, connection: Any, args: Any, options: dict[str, Any]) -> bool:
        try:
            with without_limits(), connection.migration_limits():
                super().handle(*args, **options)
        except DatabaseError as error:
            cause = _find_cause(error)
            if find_fault(cause) is not Fault.BUSY or connection.in_atomic_block:
                raise cause from cause.__cause__
            connection.close()
            return False
        return True


def _find_cause(error: DatabaseError) -> DatabaseError:
    """Returns what the database said when Django could not create the table that lists the migrations."""
    said = error.__context__ if isinstance(error, MigrationSchemaMissing) else None
    return said if isinstance(said, DatabaseError) else error
