"""Updates that are written once and run many times."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import DatabaseError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from accounts.database.compiled_update import MOST, CompiledUpdate
from accounts.models import User

pytestmark = pytest.mark.django_db


def by_id_and_version(pk: UUID, version: int) -> "QuerySet[User]":
    """Without what an update of users does besides."""
    return QuerySet(User).filter(pk=pk, session_version=version).exclude(email="nobody@example.com")


def compiled() -> CompiledUpdate:
    return CompiledUpdate(by_id_and_version, UUID(int=1), 987_654_321)


VALUES: list[dict[str, Any]] = [
    {"email": "other@example.com", "password": "x"},
    {"email": "' OR 1=1 --", "last_login": None},
    {"last_login": timezone.now(), "email": "%s", "session_version": F("session_version") + 1},
    {"session_version": F("session_version") * 2 + 3, "is_staff": True, "last_login": None},
]


@pytest.mark.parametrize("values", VALUES, ids=",".join)
def test_a_compiled_update_writes_the_same_as_the_orm(alice: User, bob: User, values: dict[str, Any]) -> None:
    update = compiled()
    before = User.objects.filter(pk=bob.pk).values().get()
    for _ in range(2):
        version = alice.session_version
        with transaction.atomic():
            assert by_id_and_version(alice.pk, version).update(**values) == 1
            expected = User.objects.filter(pk=alice.pk).values().get()
            transaction.set_rollback(True)
        assert update.run(values, alice.pk, version) == 1
        assert User.objects.filter(pk=alice.pk).values().get() == expected
        assert update.run(values, alice.pk, 77) == update.run(values, uuid4(), version) == 0
        alice.refresh_from_db()
    assert User.objects.filter(pk=bob.pk).values().get() == before


def test_there_is_a_statement_for_each_kind_of_values_and_not_for_each_value(alice: User) -> None:
    update = compiled()
    for number in range(3):
        update.run({"email": f"{number}@example.com", "last_login": timezone.now()}, alice.pk, alice.session_version)
    assert len(update._statements) == 1
    for number in range(MOST + 2):
        update.run({"session_version": F("session_version") + number}, alice.pk, 77)
    assert len(update._statements) <= MOST


def test_an_error_ends_the_transaction_as_the_orms_does(alice: User, bob: User) -> None:
    with transaction.atomic():
        with pytest.raises(DatabaseError):
            compiled().run({"email": bob.email}, alice.pk, alice.session_version)
        assert transaction.get_rollback()
        transaction.set_rollback(True)


def test_each_sample_value_has_a_placeholder() -> None:
    with pytest.raises(ValueError, match="each of the samples"):
        CompiledUpdate(lambda pk, _: QuerySet(User).filter(pk=pk), UUID(int=1), 5).run({"email": ""}, uuid4(), 5)


def test_nothing_is_passed_by_that_an_update_does_besides() -> None:
    with pytest.raises(TypeError, match="does more"):
        CompiledUpdate(lambda pk: User.objects.filter(pk=pk), UUID(int=1)).run({"is_active": False}, uuid4())
