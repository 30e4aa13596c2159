"""Queries that the ORM writes once, and that are run many times.

The ORM takes longer to write a narrow query than the database to answer it, and PostgreSQL's text format takes longer
to read than its binary one. So a hot read keeps the statement, and reads it in binary where the database can do that.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from django.db import connection, connections
from django.db.models import QuerySet


@dataclass(frozen=True, slots=True)
class _Statement:
    """`places` says for each of `constants` which value takes its place; None: it stays."""

    sql: str
    constants: tuple[Any, ...]
    places: tuple[int | None, ...]
    finish: Callable[[Sequence[Any]], Sequence[Any]]


class CompiledQuery:
    """The rows of a `values_list`, as tuples.

    `write` returns the queryset for some values, each a UUID or a string, and is called once for each kind of database
    with `samples`: values of the right types which all differ from everything else in the query.
    """

    def __init__(self, write: "Callable[..., QuerySet[Any, Any]]", *samples: UUID | str) -> None:
        self._write = write
        self._samples = samples
        self._statements: dict[str, _Statement] = {}

    def rows(self, *values: UUID | str) -> Sequence[Any]:
        statement = self._statements.get(connection.vendor)
        if statement is None:
            statement = self._statements[connection.vendor] = self._compile()
        parameters = [
            constant if place is None else _adapt(values[place])
            for constant, place in zip(statement.constants, statement.places, strict=True)
        ]

        def read() -> Sequence[Any]:
            with _cursor() as cursor:
                cursor.execute(statement.sql, parameters)
                return statement.finish(cursor.fetchall())

        # Our backend for PostgreSQL has it.
        run_read: Callable[[Callable[[], Sequence[Any]]], Sequence[Any]] | None
        run_read = getattr(connections[connection.alias], "run_read", None)
        return run_read(read) if run_read else read()

    def _compile(self) -> _Statement:
        compiler = self._write(*self._samples).query.get_compiler(using=connection.alias)
        sql, constants = compiler.as_sql()
        samples = [_adapt(sample) for sample in self._samples]
        places = tuple(samples.index(constant) if constant in samples else None for constant in constants)
        if {place for place in places if place is not None} != set(range(len(samples))):
            raise ValueError("The query does not hold each of the samples.")
        return _Statement(sql, tuple(constants), places, _finish(compiler))


def _finish(compiler: Any) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """What makes the values of the model's fields from the rows. PostgreSQL's binary format has them already."""
    if connection.vendor == "postgresql":
        return lambda rows: rows
    converters = compiler.get_converters([column[0] for column in compiler.select])
    return lambda rows: [tuple(row) for row in compiler.apply_converters(rows, converters)]


def _adapt(value: UUID | str) -> UUID | str:
    native = connection.features.has_native_uuid_field
    return value.hex if isinstance(value, UUID) and not native else value


class _BinaryCursor(psycopg.Cursor[Any]):
    """Prepares each statement when it first runs on a connection, so that PostgreSQL plans it once."""

    def execute(self, query: Any, params: Any = None, **_options: Any) -> Any:
        return super().execute(query, params, prepare=True, binary=True)


def _cursor() -> Any:
    """A cursor of this thread's connection. Django's own ones read text only."""
    if connection.vendor != "postgresql":
        return connection.cursor()
    wrapper = connections[connection.alias]
    with wrapper.wrap_database_errors:
        wrapper.ensure_connection()
        raw: Any = _BinaryCursor(wrapper.connection)
    return wrapper.make_debug_cursor(raw) if wrapper.queries_logged else wrapper.make_cursor(raw)
