"""The pages have a field for each setting of the type's schema, and lose no value."""

import json
import re
from typing import Any

import pytest
from django.test import Client

from projects.models import AgentType, Project
from tests.projects.dashboard.pages import Fields, path_of, text_of

SCHEMA: dict[str, Any] = {
    "additionalProperties": False,
    "required": ["greeting"],
    "properties": {
        "greeting": {"type": "string", "title": "How it greets", "description": "Said first.", "minLength": 2},
        "steps": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        "loud": {"type": "boolean", "default": False},
        "mood": {"enum": ["calm", "wild"], "title": "Mood <b>"},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 3}},
        "mcp": {"type": "array", "items": {"type": "object"}},
        "name": {"type": "string"},
        "odd name!": {"type": "string"},
    },
}
CLOSED = {"additionalProperties": False}
FILLED = {
    "greeting": "Ahoy", "steps": "4", "loud": "true", "mood": '"wild"', "tags": "a\r\nb c", "mcp": '[{"url": "http://x"}]',
    "setting_name": "Its own", "setting_odd_name_": "odd",
}  # fmt: skip
SETTINGS = {
    "greeting": "Ahoy", "steps": 4, "loud": True, "mood": "wild", "tags": ["a", "b c"], "mcp": [{"url": "http://x"}],
    "name": "Its own", "odd name!": "odd",
}  # fmt: skip


@pytest.fixture
def own(db: None) -> AgentType:
    return AgentType.objects.create(
        slug="own", title="Own", description="Does as told.", image="berth/assistant:latest", settings_schema=SCHEMA
    )


@pytest.fixture
def filled(own: AgentType, fields: Fields) -> Fields:
    """Returns a valid form for a project of that type, as a browser with its settings sends it."""
    rest = {name: value for name, value in fields.items() if name not in ("instructions", "model", "allowed_users")}
    return {**rest, "type": "own", "shown_type": "own", **FILLED}


def field(page: Any, name: str) -> str:
    found = re.search(
        rf'<div class="field[^"]*">(?:(?!</div>).)*id="id_{name}".*?</div>', page.content.decode(), re.DOTALL
    )
    assert found, f"There is no field {name}."
    return found[0]


def test_each_setting_has_a_field_with_the_words_of_the_schema(dashboard: Client, own: AgentType) -> None:
    page = dashboard.get("/projects/new?type=own")
    assert "How it greets" in field(page, "greeting")
    assert "Said first." in field(page, "greeting")
    assert "required" in field(page, "greeting")
    assert re.search(r'type="number"[^>]*min="1"', field(page, "steps"))
    assert "Without it: 3" in field(page, "steps")
    assert "Without it: no" in field(page, "loud")
    assert '<option value="&quot;wild&quot;">wild</option>' in field(page, "mood")
    assert "Mood &lt;b&gt;" in field(page, "mood")
    assert "One on each line." in field(page, "tags")
    assert "As JSON." in field(page, "mcp")
    assert {"setting_name", "setting_odd_name_"} <= set(page.context["form"].fields)
    assert "Does as told." in text_of(page)
    assert 'name="instructions"' not in page.content.decode()
    assert 'href="/projects/new?type=assistant"' in page.content.decode()


def test_typed_settings_are_deployed_shown_and_kept(dashboard: Client, filled: Fields, change: Any) -> None:
    assert dashboard.post("/projects/new", filled).status_code == 302
    project = Project.objects.get()
    assert project.settings == SETTINGS
    shown = dashboard.get(path_of(project, "/change")).context["form"].initial
    assert {name: shown[name] for name in FILLED if name != "mcp"} == {
        name: value.replace("\r\n", "\n") for name, value in FILLED.items() if name != "mcp"
    }
    assert json.loads(shown["mcp"]) == SETTINGS["mcp"]
    assert "Nothing was changed." in text_of(dashboard.get(change(project).url))
    assert change(project, steps="", loud="false", mood="").status_code == 302
    kept = {name: value for name, value in SETTINGS.items() if name not in ("steps", "mood")}
    assert Project.objects.get().settings == {**kept, "loud": False}


@pytest.mark.parametrize(
    ("typed", "name", "sentence"),
    [
        ({"greeting": " "}, "greeting", "Fill this in"),
        ({"greeting": "x"}, "greeting", "at least 2 character"),
        ({"steps": "many"}, "steps", "Must be of type integer"),
        ({"steps": "10"}, "steps", "Must be 9 or less"),
        ({"loud": '"x"'}, "loud", "Must be of type boolean"),
        ({"loud": "x"}, "loud", "This is not JSON"),
        ({"mood": '"sad"'}, "mood", "Must be one of: calm, wild"),
        ({"tags": "ok\nfour"}, "tags", "Entry 2 does not fit"),
        ({"mcp": "[{"}, "mcp", "This is not JSON"),
        ({"mcp": '{"a": 1}'}, "mcp", "Must be of type array"),
        ({"mcp": "[1]"}, "mcp", "Entry 1 does not fit"),
        ({"mcp": "[" * 30_000}, "mcp", "It is nested more than 32 levels deep."),
        ({"mcp": "[" * 300 + "]" * 300}, "mcp", "It is nested more than 32 levels deep."),
        ({"mcp": '[{"a": 1, "a": 2}]'}, "mcp", "An object has the name “a” twice. Keep one."),
        ({"mcp": '[{"\\ud800": 1, "\\ud800": 2}]'}, "mcp", "An object has the name “?” twice. Keep one."),
        ({"mcp": "[%s]" % ("9" * 5000)}, "mcp", "It contains a number that is too large, or is not one."),
        ({"steps": "9" * 5000}, "steps", "Must be of type integer"),
    ],
)
def test_an_error_is_shown_next_to_its_field(
    dashboard: Client, filled: Fields, typed: Fields, name: str, sentence: str
) -> None:
    answer = dashboard.post("/projects/new", {**filled, **typed})
    assert answer.status_code == 400
    assert sentence in " ".join(answer.context["form"].errors[name])
    assert [*answer.context["form"].errors] == [name]
    assert not Project.objects.exists()


def test_another_type_is_shown_before_it_is_deployed(dashboard: Client, filled: Fields) -> None:
    sent = {**filled, "shown_type": "assistant"}
    answer = dashboard.post("/projects/new", sent)
    assert answer.status_code == 400
    assert "You have chosen another type" in text_of(answer)
    assert not Project.objects.exists()
    again = {**sent, "shown_type": re.search(r'name="shown_type" value="(\w+)"', answer.content.decode())[1]}  # type: ignore[index]  # it is there
    assert dashboard.post("/projects/new", again).status_code == 302
    assert Project.objects.get().settings == SETTINGS


def test_a_field_that_the_page_did_not_have_changes_nothing(dashboard: Client, filled: Fields, change: Any) -> None:
    dashboard.post("/projects/new", filled)
    project = Project.objects.get()
    answer = dashboard.post(
        path_of(project, "/change"), {"name": "Renamed", "plan": project.plan_id, "egress": "internet"}
    )
    assert answer.status_code == 302
    assert Project.objects.get().settings == SETTINGS


@pytest.mark.parametrize("schema", [False, CLOSED, {**CLOSED, "properties": {"a": False}}])
def test_a_type_without_settings_has_no_fields_for_any(dashboard: Client, own: AgentType, schema: Any) -> None:
    AgentType.objects.filter(pk="own").update(settings_schema=schema)
    page = dashboard.get("/projects/new?type=own")
    assert page.context["form"].main_settings == page.context["form"].more_settings == []
    assert "Behaviour" not in page.content.decode()


def test_an_unknown_type_in_the_url_is_ignored(dashboard: Client, own: AgentType) -> None:
    for odd in ("nonesuch", "%00", "x" * 500, ""):
        page = dashboard.get(f"/projects/new?type={odd}")
        assert page.context["form"].asked_type.slug == "assistant"


def test_rare_settings_are_folded_unless_set_or_wrong(dashboard: Client, own: AgentType, filled: Fields) -> None:
    def is_open(page: Any) -> bool:
        found = re.search(r'<details class="more"( open)?>\s*<summary>More settings \(7\)', page.content.decode())
        assert found
        assert page.content.decode().index('id="id_greeting"') < found.start()  # it is required
        return found[1] is not None

    rare = {name: "" for name in FILLED if name != "greeting"}
    assert not is_open(dashboard.get("/projects/new?type=own"))
    assert not is_open(dashboard.post("/projects/new", {**filled, **rare, "name": ""}))
    assert is_open(dashboard.post("/projects/new", {**filled, **rare, "name": "", "loud": "true"}))
    assert is_open(dashboard.post("/projects/new", {**filled, **rare, "steps": "no number"}))
