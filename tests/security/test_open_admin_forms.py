"""A form of the admin that was open while others changed the row: what its user did not touch stays as it is now.

Generated from the registered admins and their forms, so that a new model or field is included.
"""

import html
from collections.abc import Iterator
from typing import Any

import pytest
from django import forms
from django.contrib import admin
from django.db.models import Model
from django.test import RequestFactory

from accounts.models import Notice, User
from projects.models import AgentType, Plan, Project
from tests.clients import browser_of
from tests.sampling import Some
from tests.security.populated_service import PopulatedService
from tests.security.shown_forms import forms_of

pytestmark = pytest.mark.one_database

MEANWHILE = "This was changed meanwhile."
VALUES = {
    "base_url": "https://other.example/v1", "allowed_hosts": "api.example.com", "default_models": "some-model",
    "variables": "A=b", "settings_schema": {"type": "object", "properties": {"tone": {"type": "string"}}},
    "email": "new@example.com", "egress": "gateway", "key_prefix": "gsk_", "stop_timeout": 20,
}  # fmt: skip
"""Another valid value for the fields to which not every text or number fits."""
TOGETHER = {"is_staff": {"is_staff": True}, "is_superuser": {"is_staff": True, "is_superuser": True}}
ALONE = {"is_default", "plan", "available"}
"""Of these, another row keeps the other value."""


def rows_of(model: type[Model]) -> Any:
    return model._default_manager.exclude(is_staff=True) if model is User else model._default_manager.all()


def fields_of(model: type[Model]) -> dict[str, forms.Field]:
    """The fields of the form with which an admin changes a row."""
    model_admin, request = admin.site._registry[model], RequestFactory().get("/")
    request.user = User(is_staff=True, is_superuser=True, is_active=True)
    row = rows_of(model).first()
    found: Any = model_admin.get_form(request, row, change=True)
    return dict(found.base_fields) if row and model_admin.has_change_permission(request, row) else {}


def another(name: str, value: Any) -> Any:
    if name in VALUES:
        return VALUES[name]
    if isinstance(value, bool):
        return not value
    return "another" if isinstance(value, str) else (value or 0) + 1


def page_of(row: Model) -> str:
    return f"/admin/{row._meta.app_label}/{row._meta.model_name}/{row.pk}/change/"


def shown(page: str) -> dict[str, Any]:
    """What a browser sends if its user touches nothing."""
    [form] = [each for each in forms_of(page) if any(field.name == "_save" for field in each.fields)]
    return form.values()


def stored(row: Model, name: str) -> Any:
    return type(row)._default_manager.values_list(name, flat=True).get(pk=row.pk)


def change(row: Model, name: str) -> Any:
    """Changes the row as another member of staff does, and returns its new value."""
    values = {**TOGETHER.get(name, {}), name: another(name, stored(row, name))}
    type(row)._default_manager.filter(pk=row.pk).update(**values)
    return stored(row, name)


def cases() -> Iterator[tuple[Model, str]]:
    for model in admin.site._registry:
        for name in fields_of(model):
            if name not in ALONE:
                yield rows_of(model)[0], name


def test_what_nobody_touched_stays_as_others_have_made_it(
    service: PopulatedService, monkeypatch: pytest.MonkeyPatch, some: Some
) -> None:
    monkeypatch.setattr("projects.admin.providers.check_address", lambda *_, **__: None)
    client, wrong, number = browser_of(service.admin), [], 0
    for row, name in some(cases(), one_in=6):
        sent, number = shown(client.get(page_of(row)).content.decode()), number + 1
        now = change(row, name)
        answer = client.post(page_of(row), sent)
        if answer.status_code == 200:  # an address that was put in has to be looked up first
            answer = client.post(page_of(row), shown(answer.content.decode()))
        if stored(row, name) != now or answer.status_code != 302:
            wrong.append((row._meta.label, name, answer.status_code, now, stored(row, name)))
    assert wrong == []
    assert number > 6


def test_what_both_have_changed_is_refused_once(service: PopulatedService) -> None:
    row = Plan.objects.get(slug="free")
    client, address = browser_of(service.admin), page_of(row)
    sent = shown(client.get(address).content.decode()) | {"memory_mb": ["640"]}
    Plan.objects.filter(pk="free").update(memory_mb=768, pids=200)
    refused = client.post(address, sent).content.decode()
    assert f"{MEANWHILE} It is “768” now. Save again to replace it." in html.unescape(refused)
    again = shown(refused)
    assert (again["memory_mb"], again["pids"]) == (["640"], ["200"])
    assert client.post(address, again).status_code == 302
    row.refresh_from_db()
    assert (row.memory_mb, row.pids) == (640, 200)


def test_a_note_does_not_let_a_suspended_user_in_again(service: PopulatedService) -> None:
    client, address = browser_of(service.staff), page_of(service.alice)
    sent = shown(client.get(address).content.decode()) | {"notes": ["Has paid."]}
    User.objects.filter(pk=service.alice.pk).update(is_active=False)
    assert client.post(address, sent).status_code == 302
    service.alice.refresh_from_db()
    assert (service.alice.is_active, service.alice.notes) == (False, "Has paid.")


def test_a_granted_limit_stays(service: PopulatedService) -> None:
    client, address = browser_of(service.admin), f"/admin/projects/project/{service.project.pk}/budget/"
    [form] = forms_of(client.get(address).content.decode())
    Project.objects.update(granted_day_tokens=70)
    assert client.post(address, form.values() | {"granted_month_tokens": ["90"]}).status_code == 302
    assert Project.objects.values_list("granted_day_tokens", "granted_month_tokens").get() == (70, 90)


def test_a_setting_of_a_type_stays(service: PopulatedService) -> None:
    schema: Any = {"type": "object", "properties": {"tone": {"type": "string", "title": "Tone"}}}
    AgentType.objects.filter(pk="assistant").update(settings_schema=schema)
    client, address = browser_of(service.admin), "/admin/projects/agenttype/assistant/settings/edit/?name=tone"
    [form] = forms_of(client.get(address).content.decode())
    schema["properties"]["tone"]["title"] = "Another"
    AgentType.objects.filter(pk="assistant").update(settings_schema=schema)
    assert client.post(address, form.values() | {"description": ["How it speaks."], "do": ["save"]}).status_code == 302
    tone = AgentType.objects.get(pk="assistant").settings_schema["properties"]["tone"]
    assert (tone["title"], tone["description"]) == ("Another", "How it speaks.")


@pytest.mark.parametrize("shown_before", ["", "[", "[" * 5000, "7", '{"text": 7}', '{"text": {}}', "\0", None])
def test_a_form_without_what_it_showed_is_taken_as_it_is(service: PopulatedService, shown_before: str | None) -> None:
    client, address = browser_of(service.admin), page_of(Notice.objects.get())
    sent = {"text": "New", **({} if shown_before is None else {"_shown": shown_before})}
    assert client.post(address, sent).status_code in {200, 302}
