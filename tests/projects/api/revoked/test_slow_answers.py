"""Every route with slow answers, and every way to lose access during one."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from projects.api.streams import wait
from projects.models import Project
from projects.services.observation import refresh
from tests.deploying import PROJECT
from tests.fakes.engine import MemoryEngine
from tests.projects.api.revoked.revoking import CASES, TOKEN_ENDS

SECOND = PROJECT | {"telegramToken": "555:a-free-bot"}
ROUTES: dict[str, Callable[[APIClient, Project], Any]] = {
    "restart and wait": lambda client, project: client.post(
        f"/api/projects/{project.id}/control?wait=30", {"action": "restart"}
    ),
    "create and wait": lambda client, project: client.post(
        "/api/projects?wait=30",
        {
            "name": "Second",
            "type": "assistant",
            "plan": "pro",
            "telegramToken": "555:a-free-bot",
            "apiKey": "sk-another",
        },
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.one_database
@pytest.mark.parametrize(("kind", "name"), CASES)
@pytest.mark.parametrize("route", ROUTES)
def test_waiting_for_a_status_ends_without_it_if_the_token_was_revoked(
    client_of: Any,
    alice: User,
    project: Project,
    engine: MemoryEngine,
    monkeypatch: pytest.MonkeyPatch,
    route: str,
    kind: str,
    name: str,
) -> None:
    engine.ready_after_deploy = False
    monkeypatch.setattr(wait, "POLL_SECONDS", 0.0)
    looks = []

    def look(projects: Any) -> None:
        looks.append(projects)
        if len(looks) == 2:
            TOKEN_ENDS[name][1](alice, project)
        refresh(projects)

    monkeypatch.setattr(wait, "refresh", look)
    answer = ROUTES[route](client_of(kind), project)
    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_token")
    assert "WWW-Authenticate" in answer
    assert len(looks) == 2


COMMANDS: dict[str, tuple[str, Callable[[APIClient, Project], Any]]] = {
    "start": (
        "inspect",
        lambda client, project: client.post(f"/api/projects/{project.id}/control", {"action": "start"}),
    ),
    "stop": ("stop", lambda client, project: client.post(f"/api/projects/{project.id}/control", {"action": "stop"})),
    "restart": (
        "deploy",
        lambda client, project: client.post(f"/api/projects/{project.id}/control", {"action": "restart"}),
    ),
    "change": (
        "deploy",
        lambda client, project: client.patch(f"/api/projects/{project.id}?restart=true", {"name": "Renamed"}),
    ),
    "create": (
        "deploy",
        lambda client, project: client.post(
            "/api/projects",
            {
                "name": "Second",
                "type": "assistant",
                "plan": "pro",
                "telegramToken": "555:x-bot",
                "apiKey": "sk-another",
            },
        ),
    ),
    "delete": ("remove", lambda client, project: client.delete(f"/api/projects/{project.id}")),
    "stats": ("stats", lambda client, project: client.get(f"/api/projects/{project.id}/stats")),
    "logs": ("logs", lambda client, project: client.get(f"/api/projects/{project.id}/logs")),
}


@pytest.mark.sampled(3)
@pytest.mark.one_database
@pytest.mark.parametrize(("kind", "name"), CASES)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_slow_answer_is_withheld_if_the_token_was_revoked(
    client_of: Any, alice: User, project: Project, engine: MemoryEngine, command: str, kind: str, name: str
) -> None:
    verb, act = COMMANDS[command]
    client = client_of(kind)

    def revoke() -> None:
        engine.slow(verb, None)
        TOKEN_ENDS[name][1](alice, project)

    engine.slow(verb, revoke)
    answer = act(client, project)
    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_token")
