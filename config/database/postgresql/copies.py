"""A whole database of PostgreSQL: read as it was at one moment, and replaced in one step."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.color import no_style
from django.db import OperationalError, transaction

from config.database.faults import Fault, InUseError, find_fault
from config.database.limits import without_limits

LOCK = "10s"
"""How long the tables are waited for that are to be replaced."""


@contextmanager
def snapshot(connection: Any) -> Iterator[None]:
    """All that is read inside is of one moment. Nobody is held up meanwhile."""
    with without_limits(), transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            _take_time(cursor)
            cursor.execute("SET LOCAL lock_timeout = 0")
        yield


@contextmanager
def replaced(connection: Any, *, tables: Collection[str], keep_schema: bool) -> Iterator[None]:
    """Inside, there are none of these tables or, with `keep_schema`, they have no rows.

    All of it is one transaction: where the block raises or the process is killed, everything stays as it was. Raises
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
    """The last number that the table has given out; None where it gives out none, or has given out none yet."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sequence_last_value(pg_get_serial_sequence(%s, %s)::regclass)", [table, column])
        found: int | None = cursor.fetchone()[0]
        return found


def pass_over(connection: Any, table: str, column: str, value: int) -> None:
    """The table gives out no number up to this one any more."""
    if value > 0:
        with connection.cursor() as cursor:
            cursor.execute("SELECT setval(pg_get_serial_sequence(%s, %s), %s)", [table, column, value])


def _take_time(cursor: Any) -> None:
    """For this transaction, however large the database is."""
    cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    cursor.execute("SET LOCAL statement_timeout = 0")


def _clear(connection: Any, tables: Collection[str], *, keep_schema: bool) -> None:
    """Others may have tables of their own in the database, which stay as they are."""
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
