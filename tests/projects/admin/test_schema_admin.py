"""The settings of an agent type in a form of the admin, instead of their JSON Schema."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from projects.models import AgentType
from projects.rules.settings.schema import settings_of
from projects.rules.settings.schema_editing import drop_setting, parts_of, put_setting, read_setting
from tests.clients import api_of, browser_of
from tests.projects.rules.test_setting_kinds import DEFS, PARTS

pytestmark = pytest.mark.one_database
SETTINGS = "/admin/projects/agenttype/assistant/settings/"
EDIT = f"{SETTINGS}edit/"
FORM = {"name": "tone", "shape": "choice", "title": "Tone", "choices": "dry\nwarm\n\ndry", "default": "warm"}


@pytest.fixture
def office(ada: User) -> Client:
    return browser_of(ada)


def schema() -> Any:
    return AgentType.objects.get(slug="assistant").settings_schema


@pytest.mark.parametrize("part", [part for part, _ in PARTS], ids=str)
def test_saving_an_unchanged_form_changes_nothing(part: Any) -> None:
    whole = {"type": "object", "properties": {"x_y": part}, "$defs": DEFS, "required": ["x_y"]}
    shown = read_setting(whole, "x_y")
    assert shown is None or put_setting(whole, shown) == whole


@pytest.mark.django_db
def test_every_setting_of_the_types_that_ship_stays_as_it_is() -> None:
    shown = 0
    for row in AgentType.objects.all():
        for name in parts_of(row.settings_schema):
            edited = read_setting(row.settings_schema, name)
            if edited is not None:
                shown += 1
                assert put_setting(row.settings_schema, edited) == row.settings_schema
    assert shown > 10


def test_a_setting_is_added_offered_changed_and_removed(office: Client, alice: User) -> None:
    before = schema()
    assert office.post(EDIT, FORM).headers["Location"] == SETTINGS
    part = {"type": "string", "title": "Tone", "enum": ["dry", "warm"], "default": "warm"}
    assert parts_of(schema())["tone"] == part
    assert drop_setting(schema(), "tone") == before
    offered = next(each for each in api_of(alice).get("/api/types").json() if each["slug"] == "assistant")
    assert offered["settings_schema"]["properties"]["tone"] == part
    page = office.get(SETTINGS).content.decode()
    assert "One of several texts" in page
    assert "Added the setting tone." in office.get("/admin/projects/agenttype/assistant/history/").content.decode()

    shown = office.get(EDIT, {"name": "tone"}).content.decode()
    assert "dry\nwarm" in shown
    changed = {**FORM, "name": "ignored", "shape": "integer", "default": "3", "minimum": "1", "is_required": "on"}
    assert office.post(f"{EDIT}?name=tone", changed).status_code == 302
    assert parts_of(schema())["tone"] == {"type": "integer", "title": "Tone", "default": 3, "minimum": 1}
    assert "tone" in schema()["required"]
    assert office.post(f"{EDIT}?name=tone", {"do": "remove"}).status_code == 302
    assert schema() == before


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"name": "Tone"}, "Use small letters"),
        ({"name": "instructions"}, "The type has a setting of this name."),
        ({"choices": " \n"}, "Name what can be chosen."),
        ({"default": "loud"}, "The default of tone does not fit its own schema."),
        ({"shape": "integer", "default": "many"}, "Type a number."),
        ({"shape": "number", "default": "1e30"}, "at most 20 digits"),
        ({"shape": "number", "default": "", "minimum": "NaN"}, "Enter a number."),
        ({"shape": "switch", "default": "perhaps"}, "Type yes or no."),
        ({"title": "it\u202eis"}, "Must not contain"),
    ],
    ids=str,
)
def test_an_invalid_schema_is_explained_and_changes_nothing(
    office: Client, fields: dict[str, str], sentence: str
) -> None:
    before = schema()
    answer = office.post(EDIT, {**FORM, **fields})
    assert sentence in answer.content.decode()
    assert schema() == before


def test_a_schema_that_only_json_can_express_has_no_form(office: Client) -> None:
    AgentType.objects.update(settings_schema={"properties": {"servers": {"type": "array"}, "a b": {"type": "string"}}})
    assert "JSON, edited as JSON" in " ".join(office.get(SETTINGS).content.decode().split())
    assert office.get(EDIT, {"name": "servers"}).status_code == 404
    assert office.get(EDIT, {"name": "a b"}).status_code == 200
    AgentType.objects.update(settings_schema=False)
    assert office.post(EDIT, FORM).status_code == 404
    assert [each.name for each in settings_of(drop_setting(False, "x"))] == ["instructions", "model", "allowed_users"]


def test_a_setting_with_credentials_has_no_form() -> None:
    part = {"type": "array", "items": {"type": "string"}, "x-berth-credentials": True}
    assert read_setting({"properties": {"keys": part}}, "keys") is None
    assert read_setting({"properties": {"keys": part | {"x-berth-credentials": False}}}, "keys") is not None


def test_only_admins_edit_a_schema(sam: User) -> None:
    for address in (SETTINGS, EDIT):
        assert browser_of(sam).get(address).status_code == 403
    assert browser_of(sam).post(EDIT, FORM).status_code == 403
    assert "tone" not in parts_of(schema())
