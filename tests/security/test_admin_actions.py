"""Every action and every button of the admin: what cannot be undone asks first, and does nothing until it is confirmed.

Generated from the registered admins: a new action fails here until it asks, or until someone adds what undoes it.
"""

import re
from typing import Any

import pytest
from django.contrib.admin import ModelAdmin, site
from django.db.models import Model
from django.test import Client, RequestFactory

from accounts.models import ApiKey, User
from projects.models import Project, Quarantined
from tests.accounts.phone import Phone
from tests.clients import api_of, browser_of
from tests.deploying import deploy_project
from tests.factories import ApiKeyFactory
from tests.sampling import Some
from tests.security.admin_acts import ASKED_BY_DJANGO, BUTTONS, UNDONE_BY
from tests.security.populated_service import PopulatedService, add_to_quarantine

pytestmark = pytest.mark.one_database

EVERY_ADMIN = sorted(site._registry.items(), key=lambda entry: entry[0].__name__)


def actions_of(admin: "ModelAdmin[Any]") -> list[str]:
    """The names of all actions, including those that only admins may use."""
    request = RequestFactory().get("/admin/")
    request.user = User(is_staff=True, is_superuser=True, is_active=True)
    return list(admin.get_actions(request))


EVERY_ACTION = [(model, name) for model, admin in EVERY_ADMIN for name in actions_of(admin)]
ASKING = [(model, name) for model, name in EVERY_ACTION if (model._meta.model_name, name) not in UNDONE_BY]
OURS = [(model, name) for model, name in ASKING if name not in ASKED_BY_DJANGO]


def address_of(model: type[Model]) -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/"


def choose(visitor: Client, model: type[Model], action: str, rows: list[Any], **form: str) -> Any:
    data = {"action": action, "_selected_action": [str(row.pk) for row in rows], **form}
    return visitor.post(address_of(model), data)


def everything(service: PopulatedService) -> list[Any]:
    return [service.state(), service.engine_changes()]


def phrase_of(answer: Any) -> str:
    [found] = re.findall(r'name="confirm" value="([^"]+)"|Type “([^”]+)” to confirm', answer.content.decode())
    return str(found[0] or found[1])


def test_there_are_actions_with_and_without_confirmation() -> None:
    assert (Project, "delete_projects") in OURS
    assert (ApiKey, "revoke") in OURS
    assert {(model._meta.model_name, name) for model, name in EVERY_ACTION} >= set(UNDONE_BY)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("model", "action"), ASKING, ids=lambda value: getattr(value, "__name__", value))
@pytest.mark.parametrize(
    "form",
    [{}, {"post": ""}, {"confirm": ""}, {"confirm": "yes"}, {"confirm": "1"}, {"select_across": "1"}, {"index": "0"}],
    ids=str,
)
def test_without_confirmation_nothing_happens(
    service: PopulatedService, model: type[Model], action: str, form: dict[str, str]
) -> None:
    row = model._default_manager.first()
    assert row, f"Give PopulatedService a {model.__name__}, so that its actions are tried."
    visitors = [browser_of(service.staff), browser_of(service.admin)]
    before = everything(service)
    for visitor in visitors:
        answer = choose(visitor, model, action, [row], **form)
        assert answer.status_code in {200, 302, 400}
        assert everything(service) == before


@pytest.mark.parametrize(("model", "action"), OURS, ids=lambda value: getattr(value, "__name__", value))
def test_the_question_names_the_row_and_acts_once_confirmed(
    service: PopulatedService, model: type[Model], action: str
) -> None:
    row, visitor = model._default_manager.first(), browser_of(service.admin)
    before = everything(service)
    asked = choose(visitor, model, action, [row])
    assert asked.status_code == 200
    assert str(row) in asked.content.decode()
    assert phrase_of(asked) == str(row)
    refused = choose(visitor, model, action, [row], confirm=f"{row} ?")
    assert (refused.status_code, everything(service)) == (400, before)

    assert choose(visitor, model, action, [row], confirm=phrase_of(asked)).status_code == 302
    assert everything(service) != before


@pytest.mark.parametrize("action", OURS, ids=lambda value: value[1])
def test_many_rows_are_named_and_counted(service: PopulatedService, action: tuple[type[Model], str]) -> None:
    model, name = action
    if model is Project:
        deploy_project(api_of(service.alice), name="The second", telegramToken="5:another")
    elif model is ApiKey:
        ApiKeyFactory.create(user=service.alice, name="The second")
    elif model is Quarantined:
        add_to_quarantine(service.engine, service.alice)
    rows, visitor = list(model._default_manager.all()), browser_of(service.admin)
    before = everything(service)
    assert len(rows) > 1, f"Make a second {model.__name__} here."
    asked = choose(visitor, model, name, rows)
    for row in rows:
        assert str(row) in asked.content.decode()
    phrase = f"{len(rows)} {model._meta.verbose_name_plural}"
    assert phrase_of(asked) == phrase
    for other in (str(rows[0]), str(len(rows)), f"{len(rows) + 1} {model._meta.verbose_name_plural}"):
        assert choose(visitor, model, name, rows, confirm=other).status_code == 400
    # A confirmation for two does not count for one, and not for others.
    assert choose(visitor, model, name, rows[:1], confirm=phrase).status_code == 400
    assert everything(service) == before
    begun = choose(visitor, model, name, rows, confirm=phrase)
    assert begun.status_code == 302
    if model is Project:  # the page of a batch, which continues with its own form
        before = everything(service)
        assert visitor.post(begun.headers["Location"]).status_code == 302
    assert everything(service) != before


def test_a_confirmation_covers_only_the_rows_that_its_page_showed(
    service: PopulatedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accounts.admin_site.confirmation.SHOWN", 1)
    hidden = service.project
    shown = deploy_project(api_of(service.alice), name="The second", telegramToken="5:another")
    visitor = browser_of(service.admin)
    asked = choose(visitor, Project, "delete_projects", [shown], select_across="1")
    assert "The other 1 that you selected are not affected" in asked.content.decode()
    choose(visitor, Project, "delete_projects", [shown, hidden], select_across="1", confirm=shown.name)
    assert list(Project.objects.all()) == [hidden]


def test_deleted_rows_are_not_asked_about(service: PopulatedService) -> None:
    ApiKey.objects.all().delete()
    visitor = browser_of(service.admin)
    assert choose(visitor, ApiKey, "revoke", [service.key]).status_code == 302
    assert "gone already" in visitor.get(address_of(ApiKey)).content.decode()


def test_names_are_shown_as_text(service: PopulatedService) -> None:
    Project.objects.update(name="<script>alert(1)</script>")
    asked = choose(browser_of(service.staff), Project, "delete_projects", [service.project])
    assert b"<script>alert" not in asked.content


@pytest.mark.parametrize(("model", "admin"), EVERY_ADMIN, ids=lambda value: getattr(value, "__name__", ""))
def test_every_button_of_berth_is_listed(model: type[Model], admin: "ModelAdmin[Any]") -> None:
    plain = {route.name for route in ModelAdmin.get_urls(admin)}
    assert {route.name for route in admin.get_urls()} - plain <= set(BUTTONS)


@pytest.mark.parametrize("model", [model for model, _ in EVERY_ADMIN], ids=lambda model: model.__name__)
def test_django_s_own_delete_page_asks_too(service: PopulatedService, model: type[Model], some: Some) -> None:
    row = model._default_manager.first()
    assert row
    visitors = [browser_of(service.staff), browser_of(service.admin)]
    before = everything(service)
    for visitor in visitors:
        for form in some(({}, {"post": ""}, {"post": "no"}, {"confirm": str(row)}), one_in=2):
            answer = visitor.post(f"{address_of(model)}{row.pk}/delete/", form, follow=True)
            assert answer.status_code in {200, 403}
            assert everything(service) == before


def test_resetting_a_second_factor_asks_too(service: PopulatedService, phone: Phone) -> None:
    phone.enrol(service.alice)
    visitor = browser_of(service.staff)
    before = everything(service)
    for form in ({}, {"confirm": ""}, {"confirm": "yes"}, {"post": "yes"}):
        asked = visitor.post(f"/admin/accounts/user/{service.alice.pk}/reset-second-factor/", form)
        assert "Reset the second factor of alice@example.com?" in asked.content.decode()
        assert everything(service) == before
