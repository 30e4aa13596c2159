"""Thousands of copies of a project's row, which the database makes in one statement."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections
from django.utils.connection import ConnectionProxy

from config.database import limits
from projects.models import Project

connection: Any = ConnectionProxy(connections, "default")

AT_ONCE = 5000
"""Rows per statement."""

_COUNTING = "WITH RECURSIVE n(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM n WHERE number < %s)"
_PER_VENDOR = {
    "postgresql": ("gen_random_uuid()", "generate_series(1, %s) AS number"),
    "sqlite": ("lower(hex(randomblob(16)))", f"({_COUNTING} SELECT number FROM n)"),
}


def multiply(project: Project, count: int) -> None:
    """Adds `count` rows that differ from this one in their id only. They have no bot, no user and no address."""
    new_id, numbers = _PER_VENDOR[str(connection.vendor)]
    columns = [field.column for field in Project._meta.concrete_fields]
    values = {"id": new_id, "bot_id": "NULL", "uid": "NULL", "address": "NULL"}
    table = Project._meta.db_table
    names = ", ".join(f'"{column}"' for column in columns)
    chosen = ", ".join(values.get(str(column), f'"{column}"') for column in columns)
    template = project.pk if connection.vendor == "postgresql" else project.pk.hex
    with _patient_cursor() as cursor:
        for made in range(0, count, AT_ONCE):
            cursor.execute(
                f"INSERT INTO {table} ({names}) SELECT {chosen} FROM {table}, {numbers} WHERE id = %s",
                [min(AT_ONCE, count - made), template],
            )
        cursor.execute("ANALYZE")


def vacuum(table: str) -> None:
    """Marks the pages that an index covers completely. Only PostgreSQL has them. It cannot be done in a transaction."""
    with _patient_cursor() as cursor:
        cursor.execute(f"VACUUM (ANALYZE) {table}")


@contextmanager
def _patient_cursor() -> Iterator[Any]:
    """A busy machine takes longer for so many rows than the service waits for any statement."""
    with limits.without_limits(), connection.migration_limits(), connection.cursor() as cursor:
        yield cursor
