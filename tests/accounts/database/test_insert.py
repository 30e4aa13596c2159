"""Rows that are inserted without the ORM."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, transaction
from django.db.models import Model
from django.utils import timezone

from accounts.database.insert import insert_row
from accounts.models import Notice, User
from projects.models import AgentType, Plan, Project

pytestmark = pytest.mark.django_db

NOW = timezone.now()
HOSTILE = "' OR 1=1 -- %s %% $1 \U0001f6a2"


def project(**values: Any) -> Project:
    return Project(
        id=UUID(int=7),
        owner=User.objects.get(),
        name="One",
        instance="berth",
        agent_type=AgentType.objects.get(slug="assistant"),
        plan=Plan.objects.get(slug="free"),
        **values,
    )


INSTANCES: dict[str, Callable[[], Model]] = {
    "a project with defaults": project,
    "a project with values": lambda: project(
        address="fd00::9",
        own_day_money=Decimal("1.50"),
        settings={HOSTILE: [1, 2.5, None, 2**70]},
        bot_id=2**40,
        started_at=NOW,
        log_tail=HOSTILE,
        exit_code=-1,
        operation="deploy",
        operation_id=UUID(int=8),
        operation_deadline=NOW,
    ),
    "a user": lambda: User(id=UUID(int=9), email="new@example.com", password=HOSTILE, last_login=NOW),
    "a number as its key": lambda: Notice(pk=1, text=HOSTILE, is_maintenance=True),
}


@pytest.mark.usefixtures("alice")
@pytest.mark.parametrize("instance", INSTANCES)
def test_a_row_is_the_one_that_the_orm_would_insert(instance: str, django_assert_num_queries: Any) -> None:
    make = INSTANCES[instance]
    with transaction.atomic():
        saved = make()
        saved.save(force_insert=True)
        expected = type(saved)._default_manager.filter(pk=saved.pk).values().get()
        transaction.set_rollback(True)
    added = make()
    with django_assert_num_queries(1):
        insert_row(added)
    rows = type(added)._default_manager.filter(pk=added.pk)
    moments = {"created_at", "updated_at", "date_joined"}
    assert {**rows.values().get(), **dict.fromkeys(moments)} == {**expected, **dict.fromkeys(moments)}
    assert not added._state.adding
    added.save()
    assert rows.count() == 1


@pytest.mark.usefixtures("alice")
def test_a_row_that_exists_ends_the_transaction_as_the_orms_does() -> None:
    insert_row(project())
    with transaction.atomic():
        with pytest.raises(IntegrityError):
            insert_row(project(bot_id=5))
        assert transaction.get_rollback()
        transaction.set_rollback(True)
    assert list(Project.objects.values_list("bot_id", flat=True)) == [None]
