"""What PostgreSQL keeps of a query that runs many times, and what happens when it has to forget it."""

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.db import connections, transaction
from django.db.models import F, Value
from django.utils.connection import ConnectionProxy

from accounts.database.compiled_query import CompiledQuery
from accounts.models import User

connection: Any = ConnectionProxy(connections, "default")

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database("postgresql")]


@pytest.fixture
def query() -> CompiledQuery:
    name = f"email_{uuid4().hex}"
    return CompiledQuery(
        lambda pk: User.objects.annotate(**{name: F("email")}).filter(pk=pk).values_list("id", name), UUID(int=1)
    )


def runs(query: CompiledQuery) -> list[int]:
    """Returns how often the prepared statement ran on this thread's connection; empty if it is not prepared."""
    with connection.cursor() as cursor:
        statement = query._statements["postgresql"].numbered.decode()
        cursor.execute("SELECT generic_plans FROM pg_prepared_statements WHERE statement = %s", [statement])
        return [count for (count,) in cursor.fetchall()]


def rewrite(column_type: str) -> None:
    """Rewrites the table as a migration does, over a connection of its own."""
    parameters = connection.get_connection_params()
    chosen = {name: parameters[name] for name in ("dbname", "user", "host", "port") if name in parameters}
    with psycopg.connect(**chosen, autocommit=True) as other:
        other.execute(f"ALTER TABLE accounts_user ALTER COLUMN email TYPE {column_type}")


def test_a_query_is_planned_once_for_each_connection(query: CompiledQuery, alice: User, bob: User) -> None:
    for user in (alice, bob, alice):
        assert list(query.rows(user.pk)) == [(user.pk, user.email)]
    assert runs(query) == [3]
    assert connection.connection.prepare_threshold is None, "psycopg looks at each query of the ORM, too"


def test_a_migration_that_changes_a_column_costs_no_request(query: CompiledQuery, alice: User) -> None:
    """PostgreSQL refuses a prepared plan if its result would have another type."""
    expected = [(alice.pk, alice.email)]
    assert list(query.rows(alice.pk)) == expected
    try:
        rewrite("varchar(300)")
        assert list(query.rows(alice.pk)) == expected
        assert list(query.rows(alice.pk)) == expected
        assert runs(query) == [2]
        rewrite("varchar(301)")
        with transaction.atomic():
            assert list(query.rows(alice.pk)) == expected
    finally:
        rewrite("varchar(254)")


def test_a_statement_that_the_server_forgot_is_prepared_again(query: CompiledQuery, alice: User) -> None:
    query.rows(alice.pk)
    connection.connection.execute("DEALLOCATE ALL")
    for _ in range(2):
        assert list(query.rows(alice.pk)) == [(alice.pk, alice.email)]
    assert runs(query) == [2]


def test_within_a_transaction_nothing_is_prepared(query: CompiledQuery, alice: User) -> None:
    with transaction.atomic():
        assert list(query.rows(alice.pk)) == [(alice.pk, alice.email)]
        assert runs(query) == []


def test_behind_a_pooler_nothing_is_prepared(
    query: CompiledQuery, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pooler reports process numbers that are not those of the server."""
    connection.ensure_connection()
    with monkeypatch.context() as patch:
        patch.setattr(psycopg.ConnectionInfo, "backend_pid", property(lambda _info: 0))
        connection._configure_connection(connection.connection)
    try:
        for _ in range(2):
            assert list(query.rows(alice.pk)) == [(alice.pk, alice.email)]
        assert runs(query) == []
    finally:
        connection._configure_connection(connection.connection)
    query.rows(alice.pk)
    assert runs(query) == [1]


@pytest.mark.parametrize("told", ["plain", "100 % of it", "%s and %%", "'; SELECT 1 --", "a\\b", "ü\n", "$1", 7, True])
def test_constants_are_part_of_the_statement(alice: User, told: object) -> None:
    """Otherwise one plan would serve all values, and it could not use a partial index."""
    query = CompiledQuery(
        lambda pk: User.objects.annotate(told=Value(told)).filter(pk=pk, is_active=True).values_list("told", "email"),
        UUID(int=1),
    )
    for user in (alice, alice):
        assert [tuple(map(str, row)) for row in query.rows(user.pk)] == [(str(told), user.email)]
    assert query._statements["postgresql"].places == (0,)
