"""Django's schema editor for PostgreSQL, which waits only briefly for a second lock while it holds a first one.

A read that joins two tables locks them in its own order. If a migration holds one and waits for the other, the server
ends one of the two after a second (`deadlock_timeout`). The migration must give way before that, so that it is never
the read.
"""

from typing import Any

from django.db.backends.postgresql import schema

FURTHER_LOCKS = 0.2
"""Seconds, well below the server's `deadlock_timeout`."""


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
    _is_holding = False

    def execute(self, sql: Any, params: Any = ()) -> None:
        super().execute(sql, params)
        connection: Any = self.connection
        if connection.is_migrating and connection.in_atomic_block and not self.collect_sql and not self._is_holding:
            self._is_holding = True
            super().execute(f"SET LOCAL lock_timeout = {int(FURTHER_LOCKS * 1000)}", None)
