"""Instances of a model with related ones, read by a statement that is written once."""

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import Model
from django.utils import timezone

from accounts.models import User
from projects.errors import ProjectGoneError
from projects.models import AgentType, Plan, Project, Spending
from projects.rules.status.lifecycle import Operation

pytestmark = pytest.mark.django_db

SET: dict[str, Any] = {
    "address": "172.30.0.9",
    "own_day_money": Decimal("1.50"),
    "settings": {"instructions": "Ä", "n": [1, 2.5, None, 2**70]},
    "bot_id": 2**40,
    "started_at": timezone.now(),
    "telegram_token_ciphertext": "sealed",
    "exit_code": 137,
}


@pytest.fixture
def project(alice: User) -> Project:
    return Project.objects.create(
        owner=alice,
        name="One",
        instance="berth",
        agent_type=AgentType.objects.get(slug="assistant"),
        plan=Plan.objects.get(slug="free"),
        **SET,
    )


def values_of(instance: Model) -> dict[str, tuple[type, Any]]:
    values = ((field.attname, getattr(instance, field.attname)) for field in instance._meta.concrete_fields)
    return {name: (type(value), value) for name, value in values}


@pytest.mark.parametrize("has_spent", [False, True])
def test_compiled_instances_equal_the_orm_s(project: Project, has_spent: bool, django_assert_num_queries: Any) -> None:
    if has_spent:
        today = timezone.now().date()
        Spending.objects.create(project=project, day=today, month=today)
    expected = Project.objects.select_related("owner", "agent_type", "plan", "spending").get(pk=project.pk)
    with django_assert_num_queries(1):
        found = Project.find_own(project.owner_id, project.pk)
        assert found is not None
        assert values_of(found) == values_of(expected)
        for name in ("owner", "agent_type", "plan"):
            assert values_of(getattr(found, name)) == values_of(getattr(expected, name)), name
        assert (found.known_spending is not None) == has_spent
        assert found.known_spending == expected.known_spending
        assert not found.is_known_to_be_new


def test_only_the_owner_finds_a_row(project: Project, bob: User) -> None:
    assert Project.find_own(bob.pk, project.pk) is None
    assert Project.find_own(project.owner_id, uuid4()) is None


def test_a_refreshed_instance_equals_its_row(project: Project, django_assert_num_queries: Any) -> None:
    larger = Plan.objects.exclude(pk=project.plan_id)[0]
    assert project.plan.pk != larger.pk
    Project.objects.update(plan=larger, name="Another", address=None)
    with django_assert_num_queries(1):
        project.reread()
        assert (project.name, project.address, project.plan.memory_mb) == ("Another", None, larger.memory_mb)
    project.name = "A third"
    project.save(update_fields=["name"])
    assert Project.objects.get().name == "A third"
    Project.objects.all().delete()
    with pytest.raises(ProjectGoneError):
        project.reread()


@pytest.mark.parametrize("operation", [Operation.STOP, Operation.START])
def test_a_claimed_instance_equals_its_row(project: Project, operation: Operation) -> None:
    """A claim for a stop reads only the row itself."""
    found = Project.find_own(project.owner_id, project.pk)
    assert found is not None
    kept, larger = found.agent_type, Plan.objects.exclude(pk=project.plan_id)[0]
    Project.objects.update(plan=larger, name="Another", address="fd00::9", generation=7, settings={"n": [2**70]})
    claim = found.claim(operation, lasting=timedelta(seconds=9))
    assert claim is not None
    expected = Project.objects.select_related("plan").get(pk=project.pk)
    assert (expected.operation, expected.operation_id, claim.generation) == (operation, claim.id, 8)
    assert values_of(found) == values_of(expected)
    assert values_of(found.plan) == values_of(larger)
    assert (found.agent_type is kept) == (operation == Operation.STOP)
    assert found.record(claim)
    assert found.claim(operation, lasting=timedelta(seconds=9), unchanged=True) is not None
    assert found.claim(operation, lasting=timedelta(seconds=9)) is None


def test_a_claim_for_a_stop_is_one_statement_on_postgresql(project: Project, django_assert_num_queries: Any) -> None:
    found = Project.find_own(project.owner_id, project.pk)
    assert found is not None
    with django_assert_num_queries(1 if connection.vendor == "postgresql" else 2):
        assert found.claim(Operation.STOP, lasting=timedelta(seconds=9)) is not None
        assert found.agent_type.stop_timeout
