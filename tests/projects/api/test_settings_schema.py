"""The settings of a project, checked against the schema of its type."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from rest_framework.test import APIClient

from projects.models import AgentType
from tests.problem_document import codes_of, errors_of

MESSAGES: list[tuple[dict[str, Any], str, str]] = [
    ({"model": 5}, "settings.model", "Must be of type string. The model's name as its provider spells it."),
    ({"model": ""}, "settings.model", "Must have at least 1 character(s). The model's name as its provider spells it."),
    (
        {"model": "m" * 101},
        "settings.model",
        "Must have at most 100 characters. The model's name as its provider spells it.",
    ),
    (
        {"provider": "mistral"},
        "settings.provider",
        "Must be one of: anthropic, openai, openrouter. Else told from the API key.",
    ),
    (
        {"allowed_users": [1, 1]},
        "settings.allowed_users",
        "Must not contain the same item twice. Telegram user ids or @usernames, who need no pairing; * is everybody.",
    ),
    (
        {"allowed_users": [1, "x"]},
        "settings.allowed_users.1",
        "Does not fit the settings of this agent type (see /api/types).",
    ),
    (
        {"mood": 1},
        "settings.mood",
        (
            "There is no such setting. Known are: allowed_users, answer_seconds, answer_steps, instructions, "
            "longest_message, mcp, messages_per_minute, model, provider, reminders, search_url, "
            "server_credentials, "
            "time_zone, voice_model, web."
        ),
    ),
]


@pytest.mark.parametrize(("settings", "field", "message"), MESSAGES)
def test_a_message_names_the_path_and_the_requirement(
    api: APIClient, body: dict[str, Any], settings: dict[str, Any], field: str, message: str
) -> None:
    [error] = errors_of(api.post("/api/projects", body | {"settings": settings}))
    assert (error["field"], error["detail"]) == (field, message)


def test_a_schema_of_the_staff_counts_at_once(api: APIClient, body: dict[str, Any]) -> None:
    schema = {
        "type": "object",
        "required": ["limits"],
        "properties": {
            "limits": {
                "type": "object",
                "required": ["daily"],
                "properties": {"daily": {"type": "integer", "minimum": 1, "maximum": 9}, "off": False},
            }
        },
    }
    AgentType.objects.update(settings_schema=schema)
    for settings, field, code in (
        ({}, "settings", "required"),
        ({"limits": {}}, "settings.limits", "required"),
        ({"limits": {"daily": 10}}, "settings.limits.daily", "maximum"),
        ({"limits": {"daily": 0}}, "settings.limits.daily", "minimum"),
        ({"limits": {"daily": 1.0}}, "settings.limits.daily", "type"),
        ({"limits": {"daily": 1, "off": 1}}, "settings.limits", "not_allowed"),
    ):
        assert codes_of(api.post("/api/projects", body | {"settings": settings})) == {(field, code)}
    answer = api.post("/api/projects", body | {"settings": {"limits": {"daily": 9}, "more": [1.5, None, "ü"]}})
    assert answer.json()["settings"] == {"limits": {"daily": 9}, "more": [1.5, None, "ü"]}


@pytest.mark.parametrize("schema", [{"type": "nonsense"}, {"properties": []}, ["x"], "x", {"minLength": -1}])
def test_staff_cannot_save_an_invalid_schema(db: None, schema: Any) -> None:
    assistant = AgentType.objects.get(slug="assistant")
    assistant.settings_schema = schema
    with pytest.raises(ValidationError) as caught:
        assistant.full_clean()
    assert "settings_schema" in caught.value.message_dict


@pytest.mark.parametrize("schema", [{}, []])
def test_a_type_without_a_schema_accepts_any_settings(api: APIClient, body: dict[str, Any], schema: Any) -> None:
    AgentType.objects.update(settings_schema=schema)
    assert api.post("/api/projects", body | {"settings": {"x": [1]}}).json()["settings"] == {"x": [1]}


GOOD_SETTINGS: list[dict[str, Any]] = [
    {},
    {"model": "openai/gpt-5.4-mini"},
    {"model": "m" * 100, "instructions": "i" * 8000},
    {"instructions": "Erst so.\n\tDann so. 🚢"},
    {"allowed_users": []},
    {"allowed_users": [1, 10**18, "7", "@alice_b", "@" + "a" * 64]},
    {"allowed_users": list(range(1, 201))},
    {"provider": "openrouter"},
]


@pytest.mark.parametrize("settings", GOOD_SETTINGS, ids=range(len(GOOD_SETTINGS)))
def test_valid_settings_are_returned_as_they_were_sent(
    api: APIClient, body: dict[str, Any], settings: dict[str, Any]
) -> None:
    answer = api.post("/api/projects", body | {"settings": settings})
    assert answer.status_code == 201, answer.content
    assert api.get(answer["Location"]).json()["settings"] == settings
