"""Inserts a row without the ORM, which takes longer for a wide one than the database takes to store it."""

from functools import lru_cache

from django.db import DEFAULT_DB_ALIAS, connection, transaction
from django.db.models import Model

from accounts.database.compiled_query import number_places, open_cursor


def insert_row(instance: Model) -> None:
    """Does the same as `save(force_insert=True)` for an instance whose key is set, without signals.

    psycopg would also look for the placeholders of so long a statement each time. Raises Django's `DatabaseError`.
    """
    fields = instance._meta.concrete_fields
    values = [field.get_db_prep_save(field.pre_save(instance, add=True), connection) for field in fields]
    guarded = transaction.mark_for_rollback_on_error(using=connection.alias)
    with guarded, open_cursor(connection, *_statement(type(instance))) as (cursor, sql):
        cursor.execute(sql, values)
    state = instance._state  # noqa: SLF001 - as `save` does
    state.adding, state.db = False, DEFAULT_DB_ALIAS


@lru_cache
def _statement(model: type[Model]) -> tuple[str, bytes]:
    meta, quote = model._meta, connection.ops.quote_name
    columns = ", ".join(quote(str(field.column)) for field in meta.concrete_fields)
    places = ", ".join(["%s"] * len(meta.concrete_fields))
    sql = f"INSERT INTO {quote(meta.db_table)} ({columns}) VALUES ({places})"  # noqa: S608  # nosec B608 - names of models
    return sql, number_places(sql)
