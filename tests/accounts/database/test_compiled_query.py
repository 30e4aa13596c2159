"""Queries that are written once and run many times."""

from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from django.apps import apps
from django.db import DatabaseError, connection
from django.db.models.signals import post_init, pre_init
from django.test.utils import CaptureQueriesContext

from accounts.database.compiled_query import CompiledQuery, make_instance
from accounts.models import User

pytestmark = pytest.mark.django_db


def by_id_and_email() -> CompiledQuery:
    return CompiledQuery(
        lambda pk, email: User.objects.filter(pk=pk, email=email, is_active=True).values_list("id", "date_joined"),
        UUID(int=1),
        "a sample",
    )


def test_a_compiled_query_returns_the_same_as_the_orm(alice: User, bob: User, sam: User) -> None:
    query = by_id_and_email()
    for user in (alice, bob, sam):
        assert list(query.rows(user.pk, user.email)) == [(user.pk, user.date_joined)]
        assert list(query.rows(user.pk, "nobody@example.com")) == []
        assert list(query.rows(uuid4(), user.email)) == []


def test_values_are_never_a_part_of_the_statement(alice: User) -> None:
    for hostile in ("' OR 1=1 --", '" OR ""="', "%s", "%(name)s", "\\", "x'; DROP TABLE accounts_user; --"):
        assert list(by_id_and_email().rows(alice.pk, hostile)) == []
    assert User.objects.filter(pk=alice.pk).exists()


def test_the_orm_compiles_the_query_once(alice: User, bob: User) -> None:
    written = 0

    def write(pk: UUID) -> object:
        nonlocal written
        written += 1
        return User.objects.filter(pk=pk).values_list("email")

    query = CompiledQuery(write, UUID(int=1))  # type: ignore[arg-type]  # rows of one column only
    for user in (alice, bob):
        assert list(query.rows(user.pk)) == [(user.email,)]
    assert written == 1


def test_each_run_is_logged_as_one_query(alice: User) -> None:
    query = by_id_and_email()
    with CaptureQueriesContext(connection) as queries:
        query.rows(alice.pk, alice.email)
        query.rows(alice.pk, alice.email)
    assert len(queries) == 2


def test_a_sample_that_the_query_does_not_hold_is_refused() -> None:
    query = CompiledQuery(lambda _pk: User.objects.values_list("id"), UUID(int=1))
    with pytest.raises(ValueError, match="does not contain each"):
        query.rows(UUID(int=2))


def test_a_fault_of_the_database_is_djangos_error(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    query = by_id_and_email()
    query.rows(alice.pk, alice.email)
    nowhere = "SELECT %s, %s FROM nowhere"
    broken = replace(query._statements[connection.vendor], sql=nowhere, numbered=b"SELECT $1, $2 FROM nowhere")
    monkeypatch.setitem(query._statements, connection.vendor, broken)
    with pytest.raises(DatabaseError):
        query.rows(alice.pk, alice.email)


def test_an_instance_equals_the_one_that_django_builds(alice: User) -> None:
    names = [field.attname for field in User._meta.concrete_fields if field.attname != "last_login"]
    values = User.objects.values_list(*names).get(pk=alice.pk)
    made, expected = make_instance(User, names, values), User.objects.defer("last_login").get(pk=alice.pk)
    assert made == expected
    assert (made._state.adding, made._state.db) == (expected._state.adding, expected._state.db)
    assert vars(made) | {"_state": None} == vars(expected) | {"_state": None}
    assert made.get_deferred_fields() == {"last_login"}
    assert made.last_login == alice.last_login
    made.refresh_from_db()
    made.save()


def test_no_receiver_of_a_signal_waits_for_an_instance() -> None:
    """`make_instance` tells none."""
    assert not [model for model in apps.get_models() if pre_init.has_listeners(model) or post_init.has_listeners(model)]
