"""Creating a project over the API."""

from typing import Any

from rest_framework.test import APIClient

from projects.models import Project
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN

PROJECT = {
    "name": "Harbour pilot",
    "type": "assistant",
    "plan": "pro",
    "telegramToken": CANARY_TELEGRAM_TOKEN,
    "apiKey": CANARY_API_KEY,
}
"""A good request."""


def deploy_project(api: APIClient, **fields: Any) -> Project:
    """Sends `PROJECT` with other values for the given fields. Returns the row that was made."""
    return create_project(api, PROJECT | fields)


def create_project(api: APIClient, body: dict[str, Any]) -> Project:
    answer = api.post("/api/projects", body)
    assert answer.status_code == 201, answer.content
    return Project.objects.get(pk=answer.json()["id"])
