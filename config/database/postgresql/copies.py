"""Reads a whole PostgreSQL database as of one moment, and replaces it in one step."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.color import no_style
from django.db import OperationalError, transaction

from config.database.faults import Fault, InUseError, find_fault
from config.database.limits import without_limits

LOCK = "10s"
"""How long to wait for the tables that will be replaced."""


@contextmanager
def snapshot(connection: Any) -> Iterator[None]:
    """Everything read inside is from one moment. Nobody is blocked meanwhile."""
    with without_limits(), transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            _take_time(cursor)
            cursor.execute("SET LOCAL lock_timeout = 0")
        yield


@contextmanager
def replaced(connection: Any, *, tables: Collection[str], keep_schema: bool) -> Iterator[None]:
    """Inside, these tables do not exist or, with `keep_schema`, have no rows.

    Everything is one transaction: if the block raises or the process is killed, nothing has changed. Raises
    `InUseError`.
    """
    with without_limits(), transaction.atomic():
        with connection.cursor() as cursor:
            _take_time(cursor)
            cursor.execute(f"SET LOCAL lock_timeout = '{LOCK}'")
        try:
            _clear(connection, tables, keep_schema=keep_schema)
        except OperationalError as error:
            if find_fault(error) is Fault.BUSY:
                raise InUseError from error
            raise
        yield
        connection.check_constraints()


def last_value(connection: Any, table: str, column: str) -> int | None:
    """Returns the last number that the table has assigned, or None if it has assigned none."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sequence_last_value(pg_get_serial_sequence(%s, %s)::regclass)", [table, column])
        found: int | None = cursor.fetchone()[0]
        return found


def pass_over(connection: Any, table: str, column: str, value: int) -> None:
    """Makes the table assign only numbers above this one."""
    if value > 0:
        with connection.cursor() as cursor:
            cursor.execute("SELECT setval(pg_get_serial_sequence(%s, %s), %s)", [table, column, value])


def _take_time(cursor: Any) -> None:
    """Lifts the time limits for this transaction, because the database may be large."""
    cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    cursor.execute("SET LOCAL statement_timeout = 0")


def _clear(connection: Any, tables: Collection[str], *, keep_schema: bool) -> None:
    """Drops or empties these tables. Other tables in the database are kept, because they may belong to others."""
    found = sorted(set(tables) & set(connection.introspection.table_names()))
    if keep_schema:
        emptied = [table for table in found if table != "django_migrations"]
        statements = connection.ops.sql_flush(no_style(), emptied, reset_sequences=True) if emptied else []
    else:
        quoted = ", ".join(connection.ops.quote_name(table) for table in found)
        statements = [f"DROP TABLE {quoted}"] if found else []
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
