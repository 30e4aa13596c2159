"""Creates projects: through the service, with which most tests begin, or over the API."""

from typing import Any

from rest_framework.test import APIClient

from projects.models import Actor, AgentType, Plan, Project
from projects.services import NewProject
from projects.services import create_project as create
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.clients import SessionClient

PROJECT = {
    "name": "Harbour pilot",
    "type": "assistant",
    "plan": "pro",
    "telegramToken": CANARY_TELEGRAM_TOKEN,
    "apiKey": CANARY_API_KEY,
}
"""A valid request."""


def token_of_bot(number: int) -> str:
    """Returns a bot token with a canary in it, for any bot."""
    return f"{number}:{CANARY_TELEGRAM_TOKEN.partition(':')[2]}"


def deploy_project(api: APIClient, **fields: Any) -> Project:
    """Deploys `PROJECT` with other values for the given fields. Returns the new row.

    For the owner of a session the service is called as the API would call it, at half the cost.
    """
    body = PROJECT | fields
    if not isinstance(api, SessionClient):
        return create_project(api, body)
    wanted = NewProject(
        is_first=True,
        name=body["name"],
        agent_type=AgentType.objects.get(slug=body["type"]),
        plan=Plan.objects.get(slug=body["plan"]),
        settings=body.get("settings", {}),
        telegram_token=body["telegramToken"],
        api_key=body["apiKey"],
        egress=body.get("egress"),
    )
    actor = Actor(label=api.owner.email, source="session", address="127.0.0.1")
    return Project.objects.get(pk=create(owner=api.owner, wanted=wanted, actor=actor).pk)


def create_project(api: APIClient, body: dict[str, Any]) -> Project:
    """Sends this body to the API."""
    answer = api.post("/api/projects", body)
    assert answer.status_code == 201, answer.content
    return Project.objects.get(pk=answer.json()["id"])
