"""GET /api/plans and GET /api/types: what staff offer."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from jsonschema import Draft202012Validator
from rest_framework.test import APIClient

from projects.models import AgentType, Plan
from tests.problem_document import assert_problem


def budget(day: int, month: int) -> dict[str, Any]:
    return {"day_tokens": day, "month_tokens": month, "day_money": None, "month_money": None}


FREE = {
    "slug": "free",
    "memory_mb": 256,
    "cpus": 0.25,
    "disk_mb": 1024,
    "budget": budget(500_000, 5_000_000),
    "models": None,
    "max_projects": 1,
    "is_default": True,
}


STARTER = {
    "slug": "starter",
    "memory_mb": 512,
    "cpus": 0.5,
    "disk_mb": 2048,
    "budget": budget(2_000_000, 20_000_000),
    "models": None,
    "max_projects": 3,
    "is_default": False,
}


PRO = {
    "slug": "pro",
    "memory_mb": 1024,
    "cpus": 1.0,
    "disk_mb": 5120,
    "budget": budget(10_000_000, 100_000_000),
    "models": None,
    "max_projects": 10,
    "is_default": False,
}


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
        "description": "Answers in Telegram with the model of your provider, and remembers each chat.",
        "capabilities": [],
        "default_models": {
            "anthropic": "claude-haiku-5-5",
            "openai": "gpt-5.4-mini",
            "openrouter": "openrouter/auto",
        },
        "stop_timeout": 15,
        "needs_telegram_token": True,
        "needs_api_key": True,
        "min_memory_mb": 128,
        "egress": "internet",
        "hosts": [],
        "models": None,
        "is_default": True,
    }
    Draft202012Validator.check_schema(schema)
    assert set(schema["properties"]) == {
        "model", "instructions", "allowed_users", "provider", "messages_per_minute", "longest_message",
        "answer_seconds", "answer_steps", "voice_model", "time_zone", "reminders", "web", "search_url", "mcp",
        "server_credentials",
    }  # fmt: skip
    assert all(setting["title"] for setting in schema["properties"].values())
    assert all(setting["description"].endswith(".") for setting in schema["properties"].values())


@pytest.mark.parametrize("path", ["/api/plans", "/api/types"])
def test_the_catalogue_shows_neither_images_nor_hidden_rows(api: APIClient, path: str) -> None:
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


def test_the_providers_are_read_once_for_all_types(api: APIClient) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert api.get("/api/types").status_code == 200
        return sum("projects_provider" in query["sql"] for query in queries.captured_queries)

    one = count()
    for number in range(3):
        AgentType.objects.create(slug=f"own{number}", title="Own", image="own", settings_schema={})
    assert one == count() == 1
