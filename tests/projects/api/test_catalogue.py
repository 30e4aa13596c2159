"""What the staff offer: plans and agent types, over the API and where a project chooses from them."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from jsonschema import Draft202012Validator
from rest_framework.test import APIClient

from projects.models import AgentType, Plan, Project
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem, codes_of

FREE = {"slug": "free", "memory_mb": 256, "cpus": 0.25, "max_projects": 1, "is_default": True}
STARTER = {"slug": "starter", "memory_mb": 512, "cpus": 0.5, "max_projects": 3, "is_default": False}
PRO = {"slug": "pro", "memory_mb": 1024, "cpus": 1.0, "max_projects": 10, "is_default": False}


def errors_of(answer: Any) -> list[dict[str, Any]]:
    assert_problem(answer, 400, "invalid")
    errors: list[dict[str, Any]] = answer.json()["errors"]
    return errors


# -- the lists --------------------------------------------------------------------------------------------------------


def test_the_shipped_plans_are_listed_from_small_to_large(api: APIClient) -> None:
    answer = api.get("/api/plans")
    assert answer.status_code == 200
    assert answer.json() == [FREE, STARTER, PRO]


def test_the_shipped_type_is_listed_with_its_settings(api: APIClient) -> None:
    [assistant] = api.get("/api/types").json()
    schema = assistant.pop("settings_schema")
    assert assistant == {
        "slug": "assistant",
        "title": "Assistant",
        "needs_telegram_token": True,
        "needs_api_key": True,
        "min_memory_mb": 128,
        "is_default": True,
    }
    Draft202012Validator.check_schema(schema)
    assert set(schema["properties"]) == {"model", "instructions", "allowed_users", "provider"}
    assert all(setting["description"].endswith(".") for setting in schema["properties"].values())


@pytest.mark.parametrize("path", ["/api/plans", "/api/types"])
def test_the_catalogue_shows_neither_images_nor_what_is_kept_back(api: APIClient, path: str) -> None:
    Plan.objects.create(slug="secret", memory_mb=64, cpus=1, max_projects=1, available=False)
    AgentType.objects.create(slug="secret", title="Secret", image="registry.internal/x", available=False)
    answer = api.get(path)
    assert b"secret" not in answer.content
    assert b"berth/" not in answer.content
    assert b"image" not in answer.content


@pytest.mark.parametrize("path", ["/api/plans", "/api/types"])
def test_the_catalogue_is_read_only(api: APIClient, path: str) -> None:
    for method in ("post", "put", "patch", "delete"):
        assert_problem(getattr(api, method)(path, {"slug": "x"}), 405, "method_not_allowed")


@pytest.mark.parametrize("path", ["/api/plans", "/api/types"])
def test_an_empty_catalogue_is_an_empty_list(api: APIClient, path: str) -> None:
    Plan.objects.update(available=False)
    AgentType.objects.update(available=False)
    assert api.get(path).json() == []


# -- defaults ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["type", "plan"])
def test_the_default_is_taken_where_none_is_named(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine, field: str
) -> None:
    Plan.objects.update(is_default=False)
    Plan.objects.filter(slug="starter").update(is_default=True)
    del body[field]
    shown = api.post("/api/projects", body).json()[field]
    assert shown == {"type": "assistant", "plan": "starter"}[field]


@pytest.mark.parametrize(
    ("field", "kind", "offered"), [("plan", Plan, "free, starter, pro"), ("type", AgentType, "assistant")]
)
def test_without_a_default_one_must_be_named(
    api: APIClient, body: dict[str, Any], field: str, kind: Any, offered: str
) -> None:
    kind.objects.update(is_default=False)
    chosen = body.pop(field)
    [error] = errors_of(api.post("/api/projects", body))
    assert (error["field"], error["code"]) == (field, "required")
    assert error["detail"] == f"There is no default. Choose one of: {offered}."
    assert api.post("/api/projects", body | {field: chosen}).status_code == 201


@pytest.mark.parametrize("field", ["type", "plan"])
def test_a_default_that_is_not_available_is_none(api: APIClient, body: dict[str, Any], field: str) -> None:
    kind: Any = {"type": AgentType, "plan": Plan}[field]
    kind.objects.filter(is_default=True).update(available=False)
    del body[field]
    assert codes_of(api.post("/api/projects", body)) == {(field, "required")}


def test_a_wrong_choice_is_told_the_right_ones(api: APIClient, body: dict[str, Any]) -> None:
    Plan.objects.filter(slug="pro").update(available=False)
    [error] = errors_of(api.post("/api/projects", body | {"plan": "gold"}))
    assert error["detail"] == "Choose one of: free, starter."


def test_a_plan_that_is_no_longer_offered_still_serves_its_projects(project: Project, api: APIClient) -> None:
    Plan.objects.update(available=False)
    AgentType.objects.update(available=False)
    control = api.post(f"/api/projects/{project.id}/control", {"action": "restart"})
    assert (control.status_code, control.json()["plan"]) == (200, "pro")
    assert api.get("/api/projects").json()[0]["plan"] == "pro"


@pytest.mark.parametrize("kind", [Plan, AgentType])
def test_the_database_keeps_to_one_default(db: None, kind: Any) -> None:
    values = {"memory_mb": 64, "cpus": 1, "max_projects": 1} if kind is Plan else {"title": "X", "image": "x"}
    with pytest.raises(IntegrityError), transaction.atomic():
        kind.objects.create(slug="second", is_default=True, **values)
    second = kind.objects.create(slug="second", **values)
    second.is_default = True
    with pytest.raises(ValidationError, match="Another row is the default"):
        second.full_clean()


# -- what a type needs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("needs", [("telegramToken",), ("apiKey",), ()])
def test_a_credential_is_asked_for_where_the_type_needs_it(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine, needs: tuple[str, ...]
) -> None:
    AgentType.objects.update(needs_telegram_token="telegramToken" in needs, needs_api_key="apiKey" in needs)
    given = {name: value for name, value in body.items() if name not in {"telegramToken", "apiKey"}}
    if needs:
        assert codes_of(api.post("/api/projects", given)) == {(field, "required") for field in needs}
    answer = api.post("/api/projects", given | {field: body[field] for field in needs})
    assert answer.status_code == 201
    detail = answer.json()
    assert (detail["bot"] is None) == ("telegramToken" not in needs)
    assert bool(detail["api_key_hint"]) == ("apiKey" in needs)
    assert set(engine.secrets_of(f"berth-{detail['id']}")) == {
        {"telegramToken": "telegram_bot_token", "apiKey": "agent_api_key"}[field] for field in needs
    }


def test_projects_without_a_bot_do_not_share_one(api: APIClient, body: dict[str, Any]) -> None:
    AgentType.objects.update(needs_telegram_token=False)
    del body["telegramToken"]
    for _ in range(2):
        assert api.post("/api/projects", body | {"plan": "pro"}).status_code == 201


# -- settings ---------------------------------------------------------------------------------------------------------

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
        "Must not hold the same twice. Telegram user ids or @usernames; nobody else is answered.",
    ),
    (
        {"allowed_users": [1, "x"]},
        "settings.allowed_users.1",
        "Does not fit the settings of this agent type (see /api/types).",
    ),
    (
        {"mood": 1},
        "settings.mood",
        "There is no such setting. Known are: allowed_users, instructions, model, provider.",
    ),
]


@pytest.mark.parametrize(("settings", "field", "message"), MESSAGES)
def test_a_message_names_the_path_and_says_what_is_asked_for(
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
def test_the_staff_can_keep_no_schema_that_is_none(db: None, schema: Any) -> None:
    assistant = AgentType.objects.get()
    assistant.settings_schema = schema
    with pytest.raises(ValidationError) as caught:
        assistant.full_clean()
    assert "settings_schema" in caught.value.message_dict


@pytest.mark.parametrize("schema", [{}, []])
def test_a_type_without_a_schema_takes_any_settings(api: APIClient, body: dict[str, Any], schema: Any) -> None:
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
def test_good_settings_come_back_as_they_were_sent(
    api: APIClient, body: dict[str, Any], settings: dict[str, Any]
) -> None:
    answer = api.post("/api/projects", body | {"settings": settings})
    assert answer.status_code == 201, answer.content
    assert api.get(answer["Location"]).json()["settings"] == settings
