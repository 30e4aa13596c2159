"""UPDATEs that the ORM writes once for the same columns and that run many times.

For a row with many columns, the ORM takes longer to write the statement than the database takes to run it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import Field, Model, QuerySet
from django.db.models.sql import UpdateQuery

from accounts.database.compiled_instances import Part
from accounts.database.compiled_query import Value, adapt_value, number_places, open_cursor

MOST = 200
"""Statements that are kept. Expressions that contain values of their own would each add one."""


class _Statement(NamedTuple):
    """`with_row` also returns the row, and is written for both kinds of cursors. `columns` are those whose values are
    parameters, each with its index among all; `places` is as in a query.
    """

    sql: str
    with_row: tuple[str, bytes]
    parameters: tuple[Any, ...]
    columns: tuple[tuple[int, str, Any], ...]
    places: tuple[tuple[int, int], ...]


class CompiledUpdate:
    """`find` returns the rows for some values, and is called with `samples`, as for a `CompiledQuery`."""

    def __init__(self, find: "Callable[..., QuerySet[Any, Any]]", *samples: Value) -> None:
        self._find = find
        self._samples = samples
        self._statements: dict[tuple[object, ...], _Statement] = {}

    def run(self, values: Mapping[str, Any], *found: Value) -> int:
        """Writes the values, some of which may be expressions. Returns the number of rows that were updated.

        There is one statement for each combination of null columns and expressions.
        """
        statement, parameters = self._bind(values, found)
        return self._execute(statement.sql, parameters)

    def run_and_add(self, added: Model, values: Mapping[str, Any], *found: Value) -> int:
        """Does the same as `run` and also saves `added` if a row was updated: both or neither.

        On PostgreSQL this is one statement instead of four with the transaction around them. A command waits for each.
        """
        if connection.vendor == "postgresql":
            statement, parameters = self._bind(values, found)
            insert, added_values = _write_insert(added, rows="written")
            sql = f"WITH written AS ({statement.sql} RETURNING 1) {insert}"
            return self._execute(sql, [*parameters, *added_values])
        with transaction.atomic():
            if updated := self.run(values, *found):
                type(added)._default_manager.bulk_create([added])
            return updated

    def run_and_refresh(self, instance: Model, values: Mapping[str, Any], *found: Value) -> bool:
        """Does the same as `run`, and refreshes the instance from its row if that was updated. Returns whether it was.

        On PostgreSQL this is one statement instead of two. A command waits for each.
        """
        if connection.vendor == "postgresql":
            statement, parameters = self._bind(values, found)
            guarded = transaction.mark_for_rollback_on_error(using=connection.alias)
            with guarded, open_cursor(connection, *statement.with_row) as (cursor, sql):
                cursor.execute(sql, parameters)
                row = cursor.fetchone()
        else:
            updated = self.run(values, *found)
            rows = type(instance)._default_manager.filter(pk=instance.pk).order_by().values_list(*self._part.names)
            row = rows.first() if updated else None
        if row:
            self._part.refresh(instance, list(row))
        return row is not None

    @cached_property
    def _part(self) -> Part:
        """Created at first use, because not all models are loaded before."""
        return Part(self._find(*self._samples).model)

    def _execute(self, sql: str, parameters: Sequence[Any]) -> int:
        guarded = transaction.mark_for_rollback_on_error(using=connection.alias)
        with guarded, open_cursor(connection, sql, number_places(sql)) as (cursor, prepared):
            cursor.execute(prepared, parameters)
            return max(0, int(cursor.rowcount))

    def _bind(self, values: Mapping[str, Any], found: Sequence[Value]) -> tuple[_Statement, list[Any]]:
        """Returns the statement for these values and its parameters."""
        key = (connection.vendor, *((name, _kind_of(value)) for name, value in values.items()))
        statement = self._statements.get(key)
        if statement is None:
            if len(self._statements) >= MOST:
                self._statements.clear()
            statement = self._statements[key] = self._compile(values)
        parameters = list(statement.parameters)
        for place, name, field in statement.columns:
            parameters[place] = field.get_db_prep_save(values[name], connection)
        has_uuids = connection.features.has_native_uuid_field
        for place, number in statement.places:
            parameters[place] = adapt_value(found[number], has_uuids=has_uuids)
        return statement, parameters

    def _compile(self, values: Mapping[str, Any]) -> _Statement:
        rows = self._find(*self._samples)
        if type(rows).update is not QuerySet.update:
            raise TypeError("`update` of these rows does more than write; a compiled statement would skip that.")
        query: Any = rows.order_by().query.chain(UpdateQuery)
        query.add_update_values(dict(values))
        compiler = query.get_compiler(using=connection.alias)
        sql, parameters = compiler.as_sql()
        columns, place = [], 0
        for field, _, value in query.values:
            if hasattr(value, "resolve_expression"):
                written = value.resolve_expression(query, allow_joins=False, for_save=True)
                place += len(compiler.compile(written)[1])
            elif value is not None:
                columns.append((place, _name_in(values, field), field))
                place += 1
        row = ", ".join(connection.ops.quote_name(str(field.column)) for field in query.model._meta.concrete_fields)
        with_row = f"{sql} RETURNING {row}"
        places = self._find_places(parameters, place)
        return _Statement(sql, (with_row, number_places(with_row)), tuple(parameters), tuple(columns), places)

    def _find_places(self, parameters: Sequence[Any], first: int) -> tuple[tuple[int, int], ...]:
        has_uuids = connection.features.has_native_uuid_field
        samples = [adapt_value(sample, has_uuids=has_uuids) for sample in self._samples]
        places = [(first + at, samples.index(each)) for at, each in enumerate(parameters[first:]) if each in samples]
        if {number for _, number in places} != set(range(len(samples))):
            raise ValueError("The query does not contain each of the samples.")
        return tuple(places)


def _write_insert(added: Model, *, rows: str) -> tuple[str, list[Any]]:
    """Returns the statement that adds the instance once for each of `rows`, and its parameters."""
    meta, quote = added._meta, connection.ops.quote_name
    fields = [field for field in meta.concrete_fields if not field.primary_key]  # the database numbers the rows
    columns = ", ".join(quote(str(field.column)) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    values = [field.get_db_prep_save(field.pre_save(added, add=True), connection) for field in fields]
    sql = f"INSERT INTO {quote(meta.db_table)} ({columns}) SELECT {places} FROM {rows}"  # noqa: S608  # nosec B608 - names of models
    return sql, values


def _kind_of(value: Any) -> str:
    """Expressions with the same SQL are equal."""
    if value is None:
        return "null"
    return repr(value) if hasattr(value, "resolve_expression") else "value"


def _name_in(values: Mapping[str, Any], field: "Field[Any, Any]") -> str:
    return field.name if field.name in values else field.attname
