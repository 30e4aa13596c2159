"""Adds an index while servers keep writing to its table."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.db import DatabaseError, InterfaceError, migrations

PATIENCE = 600
"""Seconds to wait until earlier transactions end. Nobody waits behind this, however long it takes."""


class AddIndexOnline(migrations.AddIndex):
    """Django's `AddIndex`, for a migration without a transaction (`atomic = False`) and without other operations.

    PostgreSQL creates the index `CONCURRENTLY`: slower, but no write waits for it. If that is interrupted, an invalid
    index remains, which every write maintains and no read may use; the next attempt replaces it. A valid index is kept.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, _before: Any, to_state: Any) -> None:
        model = to_state.apps.get_model(app_label, self.model_name)
        connection = schema_editor.connection
        if not self.allow_migrate_model(connection.alias, model):
            return
        is_postgresql = connection.vendor == "postgresql"
        if self._is_there(connection, model):
            if not is_postgresql or self._is_valid(connection):
                return
            with _patient(connection):
                schema_editor.remove_index(model, self.index, concurrently=not connection.in_atomic_block)
        if is_postgresql and not connection.in_atomic_block:
            with _patient(connection):
                schema_editor.add_index(model, self.index, concurrently=True)
        else:
            schema_editor.add_index(model, self.index)

    def _is_there(self, connection: Any, model: Any) -> bool:
        with connection.cursor() as cursor:
            return self.index.name in connection.introspection.get_constraints(cursor, model._meta.db_table)

    def _is_valid(self, connection: Any) -> bool:
        name = connection.ops.quote_name(self.index.name)
        with connection.cursor() as cursor:
            cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [name])
            found = cursor.fetchone()
        return bool(found and found[0])


@contextmanager
def _patient(connection: Any) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('lock_timeout')")
        before = cursor.fetchone()[0]
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [f"{PATIENCE}s"])
        try:
            yield
        finally:
            # A pool reuses the connection even after an error, unless the connection itself failed.
            with suppress(DatabaseError, InterfaceError):
                cursor.execute("SELECT set_config('lock_timeout', %s, false)", [before])
