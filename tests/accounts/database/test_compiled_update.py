"""Updates that are written once and run many times."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import DatabaseError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from accounts.database.compiled_update import MOST, CompiledUpdate
from accounts.models import User
from projects.models import Event

pytestmark = pytest.mark.django_db


def by_id_and_version(pk: UUID, version: int) -> "QuerySet[User]":
    """Skips what the queryset of users adds to an update."""
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


@pytest.mark.parametrize("values", VALUES, ids=",".join)
def test_an_update_refreshes_the_instance_as_a_read_would(alice: User, values: dict[str, Any]) -> None:
    update, seen = compiled(), User.objects.get(pk=alice.pk)
    seen.is_superuser = True  # as long as nothing is updated, nothing is read
    assert not update.run_and_refresh(seen, values, alice.pk, 77)
    assert seen.is_superuser
    assert update.run_and_refresh(seen, values, alice.pk, alice.session_version)
    names = [field.attname for field in User._meta.concrete_fields]
    assert list(map(vars(seen).get, names)) == list(User.objects.values_list(*names).get(pk=alice.pk))


def make_event(owner: User, address: str | None) -> Event:
    return Event(
        project_id=uuid4(),
        owner_id=owner.pk,
        actor="' OR 1=1 --",
        source="%s",
        address=address,
        action="stop",
        outcome="done",
    )


@pytest.mark.parametrize("address", [None, "192.0.2.7", "2001:db8::7"])
@pytest.mark.parametrize("values", VALUES, ids=",".join)
def test_an_event_is_added_with_the_update_as_the_orm_would_save_it(
    alice: User, values: dict[str, Any], address: str | None
) -> None:
    update, added = compiled(), make_event(alice, address)
    assert update.run_and_add(added, values, alice.pk, 77) == 0
    assert not Event.objects.exists()
    with transaction.atomic():
        assert update.run(values, alice.pk, alice.session_version) == 1
        expected = User.objects.filter(pk=alice.pk).values().get()
        transaction.set_rollback(True)
    assert update.run_and_add(added, values, alice.pk, alice.session_version) == 1
    assert User.objects.filter(pk=alice.pk).values().get() == expected
    saved = Event.objects.get()
    assert saved.pk is not None
    names = [field.attname for field in Event._meta.concrete_fields if not field.primary_key]
    assert [getattr(saved, name) for name in names] == [getattr(added, name) for name in names]


@pytest.mark.django_db(transaction=True)
def test_a_prepared_statement_adds_events_with_and_without_an_address(alice: User) -> None:
    """PostgreSQL prepares statements only outside a transaction. For it, an address that is missing has no type."""
    update = compiled()
    given = [None, "192.0.2.7", None, "2001:db8::7"]
    for address in given:
        values = {"last_login": timezone.now()}
        assert update.run_and_add(make_event(alice, address), values, alice.pk, alice.session_version) == 1
    assert list(Event.objects.order_by("pk").values_list("address", flat=True)) == given


@pytest.mark.django_db(transaction=True)
def test_an_update_whose_event_cannot_be_saved_writes_nothing(alice: User) -> None:
    added = make_event(alice, None)
    added.owner_id = None  # type: ignore[assignment]  # which the column refuses
    with pytest.raises(DatabaseError):
        compiled().run_and_add(added, {"is_staff": True}, alice.pk, alice.session_version)
    alice.refresh_from_db()
    assert (alice.is_staff, Event.objects.count()) == (False, 0)


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
