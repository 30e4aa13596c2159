"""Every route that answers for longer, and every way to lose access while it does."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.credentials.session_tokens import issue_session
from accounts.models import ApiKey, RevokedSession, User
from accounts.services.sign_in import set_password, sign_out_everywhere
from projects.api import revalidation, wait
from projects.models import LongRequest, Project
from projects.services.observation import refresh
from tests.deploying import PROJECT
from tests.factories import ApiKeyFactory, plain_key
from tests.fakes.engine import MemoryEngine
from tests.projects.api.following import events_of, hang_up

Revoke = Callable[[User, Project], object]
SESSION, KEY = "session", "key"


def sign_out(user: User, _project: Project) -> None:
    answer = APIClient().post("/api/auth/logout", headers={"Authorization": f"Bearer {user.token}"})  # type: ignore[attr-defined]
    assert answer.status_code == 204
    assert RevokedSession.objects.exists()


def deactivate(user: User, _project: Project) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


TOKEN_ENDS: dict[str, tuple[tuple[str, ...], Revoke]] = {
    "signed out": ((SESSION,), sign_out),
    "sessions ended": ((SESSION,), lambda user, _: sign_out_everywhere(user=user)),
    "password changed": ((SESSION,), lambda user, _: set_password(user=user, password="a passphrase, entirely new")),
    "key revoked": ((KEY,), lambda *_: ApiKey.objects.update(revoked_at=timezone.now())),
    "key expired": ((KEY,), lambda *_: ApiKey.objects.update(expires_at=timezone.now())),
    "key deleted": ((KEY,), lambda *_: ApiKey.objects.all().delete()),
    "deactivated": ((SESSION, KEY), deactivate),
    "made staff": ((SESSION, KEY), lambda user, _: User.objects.filter(pk=user.pk).update(is_staff=True)),
    "made admin": ((SESSION, KEY), lambda user, _: User.objects.filter(pk=user.pk).update(is_superuser=True)),
}
PROJECT_ENDS: dict[str, Revoke] = {
    "deleted": lambda _, project: Project.objects.filter(pk=project.pk).update(desired="deleted"),
    "gone": lambda _, project: Project.objects.filter(pk=project.pk).delete(),
    "suspended": lambda _, project: Project.objects.filter(pk=project.pk).update(suspended_at=timezone.now()),
    "of a deactivated owner": deactivate,
}
CASES = [(kind, name) for name, (kinds, _) in TOKEN_ENDS.items() for kind in kinds]


@pytest.fixture(autouse=True)
def _checks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revalidation, "EVERY", 0.0)


@pytest.fixture
def client_of(alice: User) -> Callable[[str], APIClient]:
    """Alice's client with a session token or a key."""

    def make(kind: str) -> APIClient:
        token = issue_session(alice) if kind == SESSION else plain_key(ApiKeyFactory.create(user=alice, scope="write"))
        alice.token = token  # type: ignore[attr-defined]
        client = APIClient()
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
        return client

    return make


@pytest.mark.parametrize(("kind", "name"), CASES)
@pytest.mark.parametrize("printing", [True, False])
def test_a_followed_log_ends_with_its_token(
    client_of: Any, alice: User, project: Project, engine: MemoryEngine, kind: str, name: str, printing: bool
) -> None:
    engine.silence = 0.01
    engine.log(project.container_name, "before")
    answer = client_of(kind).get(f"/api/projects/{project.id}/logs?follow=true")
    events = events_of(answer.streaming_content)
    assert next(events).endswith(" before")
    TOKEN_ENDS[name][1](alice, project)
    if printing:
        engine.log(project.container_name, "must not be read")
    rest = list(events)
    assert [event.partition("\n")[0] for event in rest] == ["event: error"]
    assert "must not be read" not in "".join(rest)
    hang_up(answer)
    assert not LongRequest.objects.exists()


@pytest.mark.parametrize("name", PROJECT_ENDS)
def test_a_followed_log_ends_with_its_project(
    client_of: Any, alice: User, project: Project, engine: MemoryEngine, name: str
) -> None:
    engine.log(project.container_name, "before")
    answer = client_of(SESSION).get(f"/api/projects/{project.id}/logs?follow=true")
    events = events_of(answer.streaming_content)
    next(events)
    PROJECT_ENDS[name](alice, project)
    engine.log(project.container_name, "must not be read")
    rest = "".join(events)
    hang_up(answer)
    assert rest.startswith("event: error\n")
    assert "must not be read" not in rest


def test_a_followed_log_goes_on_while_nothing_has_changed(
    client_of: Any, project: Project, engine: MemoryEngine
) -> None:
    for number in range(5):
        engine.log(project.container_name, f"line {number}")
    answer = client_of(KEY).get(f"/api/projects/{project.id}/logs?follow=true")
    events = events_of(answer.streaming_content)
    assert [next(events).rpartition(" ")[2] for _ in range(5)] == list("01234")
    hang_up(answer)


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


@pytest.mark.parametrize(("kind", "name"), CASES)
@pytest.mark.parametrize("route", ROUTES)
def test_who_waits_for_a_status_is_not_told_it_without_a_token(
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


@pytest.mark.parametrize(("kind", "name"), CASES)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_slow_answer_is_not_told_without_a_token(
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
