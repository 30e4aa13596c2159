"""“Delete selected” in the lists of the admin takes the rows that its question shows, however many are selected."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin import site
from django.db.models import Model
from django.test import Client

from accounts.models import User
from projects.models import AgentType, Allowance, ModelPrice, Plan
from tests.clients import browser_of

pytestmark = pytest.mark.one_database


@pytest.fixture
def admin(ada: User) -> Client:
    return browser_of(ada)


def address_of(model: type[Model]) -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/"


def make_users(number: int) -> None:
    User.objects.bulk_create(User(email=f"spam{n:04}@example.net", password="!") for n in range(number))


def make_prices(number: int) -> None:
    ModelPrice.objects.bulk_create(ModelPrice(model=f"spam{n:04}", input=1, output=1) for n in range(number))


def make_plans(number: int) -> None:
    Plan.objects.bulk_create(
        Plan(slug=f"spam{n:04}", memory_mb=64, cpus=1, pids=50, max_projects=1) for n in range(number)
    )


def make_types(number: int) -> None:
    AgentType.objects.bulk_create(AgentType(slug=f"spam{n:04}", title="x", image="x") for n in range(number))


def make_allowances(number: int) -> None:
    make_users(number)
    users = User.objects.filter(email__startswith="spam")
    Allowance.objects.bulk_create(Allowance(user=user, plan_id="pro", max_projects=1) for user in users)


MANY: dict[type[Model], Callable[[int], None]] = {
    User: make_users,
    ModelPrice: make_prices,
    Plan: make_plans,
    AgentType: make_types,
    Allowance: make_allowances,
}


@pytest.mark.parametrize("model", MANY, ids=lambda model: model.__name__)
def test_a_list_deletes_at_most_as_many_as_its_question_shows(
    admin: Client, monkeypatch: pytest.MonkeyPatch, model: type[Model]
) -> None:
    monkeypatch.setattr("accounts.admin_site.deletion.SHOWN", 3)
    before = list(model._default_manager.values_list("pk", flat=True))
    MANY[model](5)
    chosen = model._default_manager.exclude(pk__in=before).values_list("pk", flat=True)
    form = {"action": "delete_selected", "_selected_action": [str(pk) for pk in chosen]}
    page = admin.post(address_of(model), form)
    text = page.content.decode()
    assert "These are the first 3. The other 2 that you selected are not affected" in text
    keys = re.findall(r'name="_selected_action" value="([^"]+)"', text)
    assert len(keys) == 3
    sent = {"action": "delete_selected", "post": "yes", "_selected_action": keys}
    assert admin.post(address_of(model), sent).status_code == 302
    assert model._default_manager.count() == len(before) + 2


def test_all_of_many_users_can_be_selected(admin: Client) -> None:
    make_users(1010)
    first = str(User.objects.filter(email__startswith="spam")[0].pk)
    form = {"action": "delete_selected", "select_across": "1", "_selected_action": [first]}
    asked = admin.post(f"{address_of(User)}?q=spam", form).content.decode()
    assert "These are the first 100. The other 910 that you selected are not affected" in asked
    keys = re.findall(r'name="_selected_action" value="([^"]+)"', asked)
    confirmed = {"action": "delete_selected", "post": "yes", "_selected_action": keys}
    assert admin.post(f"{address_of(User)}?q=spam", confirmed).status_code == 302
    assert User.objects.filter(email__startswith="spam").count() == 910


def test_every_model_whose_list_deletes_is_listed(rf: Any, ada: User) -> None:
    request = rf.get("/admin/")
    request.user = ada
    deleting = {model for model, each in site._registry.items() if "delete_selected" in each.get_actions(request)}
    assert deleting == set(MANY)
