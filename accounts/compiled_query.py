"""Queries that the ORM writes once, and that are run many times.

The ORM takes longer to write a narrow query than the database to answer it, and PostgreSQL's text format takes longer
to read than its binary one. So a hot read keeps the statement, and reads it in binary where the database can do that.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
    """`places` says for each of `constants` which value takes its place; None: it stays.

    For PostgreSQL those that stay are written into the statement: it plans a prepared one for any values, and would not
    see that the rows are those of a partial index.
    """

    sql: str
    numbered: bytes
    constants: tuple[Any, ...]
    places: tuple[int | None, ...]
    finish: Callable[[Sequence[Any]], Sequence[Any]]


def make_instance(model: type[M], names: Sequence[str], values: Iterable[Any]) -> M:
    """What `from_db` makes of the values of these columns. That looks for each field of the model among the names, and
    tells receivers of signals, of which we have none: for a wide model it takes forty times as long.

    Django reads the other columns when they are asked for.
    """
    instance = model.__new__(model)
    state = ModelState()
    state.adding, state.db = False, DEFAULT_DB_ALIAS
    vars(instance).update(zip(names, values, strict=True), _state=state)
    return instance


class CompiledQuery:
    """The rows of a `values_list`, as tuples.

    `write` returns the queryset for some values, each a `Value`, and is called once for each kind of database
    with `samples`: values of the right types which all differ from everything else in the query.
    """

    def __init__(self, write: "Callable[..., QuerySet[Any, Any]]", *samples: Value) -> None:
        self._write = write
        self._samples = samples
        self._statements: dict[str, _Statement] = {}

    def rows(self, *values: Value) -> Sequence[Any]:
        # Django's `connection` looks for this thread's own at each use of it.
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
            with _cursor(wrapper, statement) as (cursor, sql):
                cursor.execute(sql, parameters)
                return statement.finish(cursor.fetchall())

        # Our backend for PostgreSQL has it.
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
            raise ValueError("The query does not hold each of the samples.")
        if connection.vendor == "postgresql":
            sql = _write_out(sql, constants, places)
            places = tuple(place for place in places if place is not None)
            constants = tuple(constant for constant in constants if constant in samples)
        return _Statement(sql, _number_places(sql), tuple(constants), places, _finish(compiler))


def _finish(compiler: Any) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """What makes the values of the model's fields from the rows. PostgreSQL's binary format has them already."""
    if connection.vendor == "postgresql":
        return lambda rows: rows
    converters = compiler.get_converters([column[0] for column in compiler.select])
    return lambda rows: [tuple(row) for row in compiler.apply_converters(rows, converters)]


def _write_out(sql: str, constants: Sequence[Any], places: Sequence[int | None]) -> str:
    """The statement with the constants that stay, as literals, and with places for the others."""
    wrapper: Any = connection
    left = zip(constants, places, strict=True)

    def write(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%%"
        constant, place = next(left)
        return "%s" if place is not None else wrapper.as_literal(constant).replace("%", "%%")

    return _PLACE.sub(write, sql)


def _number_places(sql: str) -> bytes:
    """The statement with PostgreSQL's own places for values, so that psycopg need not look for others each time."""
    numbers = count(1)
    return _PLACE.sub(lambda found: "%" if found[0] == "%%" else f"${next(numbers)}", sql).encode()


def adapt_value(value: Value, *, has_uuids: bool) -> Value:
    return value.hex if isinstance(value, UUID) and not has_uuids else value


@contextmanager
def _cursor(wrapper: Any, statement: _Statement) -> Iterator[tuple[Any, Any]]:
    """A cursor of this connection, and the statement as it takes it. Django's own ones read text only."""
    if wrapper.vendor != "postgresql":
        with wrapper.cursor() as plain:
            yield plain, statement.sql
        return
    is_logged = wrapper.queries_logged
    raw = wrapper.prepared_cursor(is_logged=is_logged)
    with wrapper.make_debug_cursor(raw) if is_logged else wrapper.make_cursor(raw) as cursor:
        yield cursor, statement.sql if is_logged else statement.numbered
