"""Queries that the ORM writes once and that run many times.

The ORM takes longer to write a narrow query than the database takes to answer it, and PostgreSQL's text format takes
longer to read than its binary one. A hot read therefore keeps its statement, and reads binary values if the database
supports them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any, TypeVar
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import Model, QuerySet
from django.db.models.base import ModelState

M = TypeVar("M", bound=Model)
Value = UUID | str | int

_PLACE = re.compile("%[%s]")


@dataclass(frozen=True, slots=True)
class _Statement:
    """`places` says for each of `constants` which value replaces it; None means that the constant stays.

    For PostgreSQL, constants that stay are written into the statement, because a prepared statement is planned for any
    parameter values and would not use a partial index.
    """

    sql: str
    numbered: bytes
    constants: tuple[Any, ...]
    places: tuple[int | None, ...]
    finish: Callable[[Sequence[Any]], Sequence[Any]]


def make_instance(model: type[M], names: Sequence[str], values: Iterable[Any]) -> M:
    """Returns what `from_db` makes of these columns, without its search for each field and without signals.

    For a wide model `from_db` takes forty times as long, and we have no receivers of signals. Django reads the other
    columns when they are used.
    """
    instance = model.__new__(model)
    state = ModelState()
    state.adding, state.db = False, DEFAULT_DB_ALIAS
    vars(instance).update(zip(names, values, strict=True), _state=state)
    return instance


class CompiledQuery:
    """The rows of a `values_list`, as tuples.

    `write` returns the queryset for some values, each a `Value`. It is called once for each kind of database with
    `samples`: values of the right types that all differ from everything else in the query.
    """

    def __init__(self, write: "Callable[..., QuerySet[Any, Any]]", *samples: Value) -> None:
        self._write = write
        self._samples = samples
        self._statements: dict[str, _Statement] = {}

    def rows(self, *values: Value) -> Sequence[Any]:
        # Django's `connection` looks up the thread's own connection at each use.
        wrapper: Any = connections[DEFAULT_DB_ALIAS]
        statement = self._statements.get(wrapper.vendor)
        if statement is None:
            statement = self._statements[wrapper.vendor] = self._compile()
        has_uuids = wrapper.features.has_native_uuid_field
        parameters = [
            constant if place is None else adapt_value(values[place], has_uuids=has_uuids)
            for constant, place in zip(statement.constants, statement.places, strict=True)
        ]

        def read() -> Sequence[Any]:
            with open_cursor(wrapper, statement.sql, statement.numbered) as (cursor, sql):
                cursor.execute(sql, parameters)
                return statement.finish(cursor.fetchall())

        # Our PostgreSQL backend provides this.
        run_read: Callable[[Callable[[], Sequence[Any]]], Sequence[Any]] | None
        run_read = getattr(wrapper, "run_read", None)
        return run_read(read) if run_read else read()

    def _compile(self) -> _Statement:
        compiler = self._write(*self._samples).query.get_compiler(using=connection.alias)
        sql, constants = compiler.as_sql()
        has_uuids = connection.features.has_native_uuid_field
        samples = [adapt_value(sample, has_uuids=has_uuids) for sample in self._samples]
        places = tuple(samples.index(constant) if constant in samples else None for constant in constants)
        if set(range(len(samples))) - set(places):
            raise ValueError("The query does not contain each of the samples.")
        if connection.vendor == "postgresql":
            sql = _write_out(sql, constants, places)
            places = tuple(place for place in places if place is not None)
            constants = tuple(constant for constant in constants if constant in samples)
        return _Statement(sql, number_places(sql), tuple(constants), places, _finish(compiler))


def _finish(compiler: Any) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Returns the function that converts rows to the values of the model's fields. PostgreSQL's binary format needs
    none.
    """
    if connection.vendor == "postgresql":
        return lambda rows: rows
    converters = compiler.get_converters([column[0] for column in compiler.select])
    return lambda rows: [tuple(row) for row in compiler.apply_converters(rows, converters)]


def _write_out(sql: str, constants: Sequence[Any], places: Sequence[int | None]) -> str:
    """Returns the statement with constants that stay as literals, and with placeholders for the others."""
    wrapper: Any = connection
    left = zip(constants, places, strict=True)

    def write(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%%"
        constant, place = next(left)
        return "%s" if place is not None else wrapper.as_literal(constant).replace("%", "%%")

    return _PLACE.sub(write, sql)


@lru_cache(1000)
def number_places(sql: str) -> bytes:
    """Returns the statement with PostgreSQL's own placeholders, so that psycopg need not parse it each time."""
    numbers = count(1)
    return _PLACE.sub(lambda found: "%" if found[0] == "%%" else f"${next(numbers)}", sql).encode()


def adapt_value(value: Value, *, has_uuids: bool) -> Value:
    return value.hex if isinstance(value, UUID) and not has_uuids else value


@contextmanager
def open_cursor(wrapper: Any, sql: str, numbered: bytes) -> Iterator[tuple[Any, Any]]:
    """Returns a cursor of this connection, and the statement in the form that it takes: `sql`, or `numbered` by
    `number_places`. Django's own cursors read text only.
    """
    if wrapper.vendor != "postgresql":
        with wrapper.cursor() as plain:
            yield plain, sql
        return
    is_logged = wrapper.queries_logged
    raw = wrapper.prepared_cursor(is_logged=is_logged)
    with wrapper.make_debug_cursor(raw) if is_logged else wrapper.make_cursor(raw) as cursor:
        yield cursor, sql if is_logged else numbered
