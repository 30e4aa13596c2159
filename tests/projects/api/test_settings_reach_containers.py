"""Every setting of a type's schema reaches the container without a change of code,
and so do the type's own variables."""

import json
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from rest_framework.test import APIClient

from projects.models import AgentType, Project
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem

SCHEMA: dict[str, Any] = {
    "additionalProperties": False,
    "properties": {
        "greeting": {"type": "string", "default": "Hello"},
        "steps": {"type": "integer", "minimum": 1},
        "heat": {"type": "number"},
        "loud": {"type": "boolean", "default": False},
        "mood": {"enum": ["calm", "wild"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "mcp": {"type": "array", "items": {"type": "object"}},
        "search": {"type": "object"},
        "instructions": {"type": "string"},
    },
}
SETTINGS: dict[str, Any] = {
    "greeting": "Ahoy", "steps": 3, "heat": 0.5, "loud": True, "mood": "wild", "tags": ["a", "b c"],
    "mcp": [{"url": "http://x", "deep": {"n": [1, None]}}], "search": {"engine": "é\U0001f600"},
    "instructions": "Two\nlines",
}  # fmt: skip


@pytest.fixture
def kind(db: None) -> AgentType:
    """A type next to the shipped one, with the same image."""
    return AgentType.objects.create(
        slug="own",
        title="Own",
        image="berth/assistant:latest",
        settings_schema=SCHEMA,
        default_models="openai: gpt-own",
    )


def environment_of(api: APIClient, body: dict[str, Any], engine: MemoryEngine, **more: Any) -> dict[str, str]:
    answer = api.post("/api/projects", {**body, "type": "own", **more})
    assert answer.status_code == 201, answer.content
    spec = engine.containers[Project.objects.get(pk=answer.json()["id"]).container_name].spec
    assert spec is not None
    return dict(spec.environment)


def test_all_settings_are_there_as_json_with_the_defaults_of_the_others(
    kind: AgentType, api: APIClient, body: dict[str, Any], engine: MemoryEngine
) -> None:
    environment = environment_of(api, body, engine, settings=SETTINGS)
    assert json.loads(environment["AGENT_SETTINGS"]) == SETTINGS
    assert environment["AGENT_INSTRUCTIONS"] == "Two\nlines"
    project = Project.objects.get()
    assert (
        api.patch(f"/api/projects/{project.pk}?restart=true", {"settings": dict.fromkeys(SETTINGS)}).status_code == 200
    )
    spec = engine.containers[Project.objects.get().container_name].spec
    assert spec is not None
    assert json.loads(spec.environment["AGENT_SETTINGS"]) == {"greeting": "Hello", "loud": False}
    assert Project.objects.get().settings == {}, "A default is not written down: it follows the type."


def test_an_image_outside_the_contract_gets_the_variables_of_its_type(
    kind: AgentType, api: APIClient, body: dict[str, Any], engine: MemoryEngine
) -> None:
    names = {f"S_{name.upper()}": f"{{settings.{name}}}" for name in SETTINGS}
    others = {
        "TOKEN": "{telegram_token}",
        "KEY": "{api_key}",
        "URL": "{provider_api}/x",
        "MODEL": "{model}",
        "FILE": "{api_key_file}",
    }
    kind.variables = "\n".join(f"{name}={template}" for name, template in {**names, **others}.items())
    kind.full_clean()
    kind.save()
    environment = environment_of(
        api, body, engine, settings={name: value for name, value in SETTINGS.items() if name != "greeting"}
    )
    shown = {name: environment[f"S_{name.upper()}"] for name in SETTINGS}
    assert shown == {
        "greeting": "Hello", "steps": "3", "heat": "0.5", "loud": "true", "mood": "wild", "tags": "a,b c",
        "mcp": '[{"deep":{"n":[1,null]},"url":"http://x"}]', "search": '{"engine":"\\u00e9\\ud83d\\ude00"}',
        "instructions": "Two\nlines",
    }  # fmt: skip
    assert environment["MODEL"] == "gpt-own"
    assert environment["AGENT_MODEL"] == "gpt-own"
    assert environment["URL"] == environment["AGENT_API_BASE"] + "/x"
    assert environment["FILE"] == "/run/secrets/agent_api_key"
    everything = json.dumps(environment)
    assert body["telegramToken"] not in everything
    assert body["apiKey"] not in everything
    assert environment["TOKEN"].count(":") == 1
    assert environment["KEY"]


def test_without_the_gateway_no_credential_becomes_a_variable(
    kind: AgentType, api: APIClient, body: dict[str, Any], engine: MemoryEngine, settings: Any
) -> None:
    settings.BERTH_GATEWAY = False
    AgentType.objects.filter(pk="own").update(variables="PLAIN={provider_api}")
    assert environment_of(api, body, engine)["PLAIN"] == "https://api.openai.com/v1"
    Project.objects.get().delete()
    for place in ("telegram_token", "api_key"):
        AgentType.objects.filter(pk="own").update(variables=f"X={{{place}}}")
        answer = api.post("/api/projects", {**body, "type": "own"})
        assert_problem(answer, 409, "settings_unusable")
        assert "needs the gateway" in answer.json()["detail"]
        assert not Project.objects.exists()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"variables": "A={settings.nonesuch}"}, "variables"),
        ({"variables": "A={nonesuch}"}, "variables"),
        ({"default_models": "a\nb"}, "default_models"),
        ({"settings_schema": {"properties": {"a": {"type": "integer", "default": "x"}}}}, "settings_schema"),
        ({"settings_schema": {"properties": {"model": {"default": 7, "type": "string"}}}}, "settings_schema"),
        ({"description": "a\u202eb"}, "description"),
    ],
)
def test_conflicting_variables_are_refused_when_staff_save_the_type(
    kind: AgentType, fields: dict[str, Any], field: str
) -> None:
    for name, value in fields.items():
        setattr(kind, name, value)
    with pytest.raises(ValidationError) as raised:
        kind.full_clean()
    assert set(raised.value.message_dict) == {field}


def test_a_default_is_checked_against_its_own_schema_only(kind: AgentType) -> None:
    kind.settings_schema = {"required": ["b"], "minProperties": 2, "properties": {"a": {"default": 7}, "b": True}}
    kind.full_clean()
    kind.settings_schema = {
        "properties": {"a": {"$ref": "#/$defs/loop", "default": 1}},
        "$defs": {"loop": {"$ref": "#/$defs/loop"}},
    }
    kind.full_clean()
