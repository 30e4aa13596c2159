"""A key is only sent to the provider that checked it, no matter what staff and others change meanwhile."""

import logging
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.test import Client
from rest_framework.test import APIClient

from containers.outbound import call_limits
from projects.credentials import verification
from projects.errors import InvalidFieldError
from projects.models import Project, Provider
from projects.models.event import SYSTEM
from projects.services import ProjectChange, update_project
from projects.services.commands import creation, update
from projects.services.commands.admission import lock_provider
from tests.canaries import CANARY_API_KEY
from tests.deploying import PROJECT, token_of_bot
from tests.fakes.engine import MemoryEngine
from tests.fakes.provider import FakeProvider
from tests.problem_document import codes_of
from tests.projects.gateway.naming import GROQ, GROQ_KEY, LIST
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def _nobody_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "PROBES", dict.fromkeys(verification.PROBES, "http://127.0.0.1:9/models"))


@pytest.mark.parametrize(
    "change", [{"settings": {"instructions": "Mine."}}, {"name": "Mine"}, {"telegramToken": token_of_bot(72)}]
)
def test_a_project_keeps_its_provider_until_its_key_or_the_setting_changes(
    api: APIClient, deploy: Callable[..., Project], groq: FakeProvider, change: dict[str, Any]
) -> None:
    """Even if staff have changed the key prefix or deleted the provider."""
    project = deploy(apiKey=GROQ_KEY)
    groq.requests.clear()
    Provider.objects.update(key_prefix="new_")
    for _ in range(2):
        answer = api.patch(f"/api/projects/{project.pk}", change)
        assert (answer.status_code, answer.json()["provider"]) == (200, "groq"), answer.content
        Provider.objects.all().delete()
    assert groq.requests == []


def test_a_change_of_provider_verifies_the_stored_key_again(
    api: APIClient, deploy: Callable[..., Project], groq: FakeProvider, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = deploy(apiKey=GROQ_KEY, settings={"provider": "groq"})
    asked: list[str] = []

    def ask(_key: str, provider: str, _named: Any) -> list[str]:
        asked.append(provider)
        return []

    monkeypatch.setattr(verification, "_ask_provider", ask)
    path = f"/api/projects/{project.pk}"
    assert api.patch(path, {"settings": {"provider": None}}).json()["provider"] == "groq"
    assert asked == []
    assert api.patch(path, {"settings": {"provider": "groq"}}).status_code == 200
    Provider.objects.update(key_prefix="new_")
    assert api.patch(path, {"settings": {"provider": None}}).json()["provider"] == "openai"
    assert asked == ["openai"]


def test_a_change_of_the_provider_sees_a_key_that_came_in_between(
    deploy: Callable[..., Project], groq: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key was checked at its own provider, and is checked again at the chosen one."""
    project = deploy(apiKey=GROQ_KEY)
    mine, ask, rounds = Project.objects.get(pk=project.pk), update._look_then_ask, [1]

    def ask_slowly(*args: Any) -> Any:
        check = ask(*args)
        if rounds:
            rounds.clear()
            update_project(project=mine, change=ProjectChange(api_key=CANARY_API_KEY), actor=SYSTEM)
        return check

    groq.reject(CANARY_API_KEY)
    monkeypatch.setattr(update, "_look_then_ask", ask_slowly)
    with pytest.raises(InvalidFieldError, match="refused the API key"):
        update_project(project=project, change=ProjectChange(settings_patch={"provider": "groq"}), actor=SYSTEM)
    assert Project.objects.get(pk=project.pk).provider == "openai"


@pytest.mark.parametrize("verb", ["create", "change"])
def test_a_provider_deleted_just_before_a_creation_gets_no_project(
    api: APIClient, deploy: Callable[..., Project], groq: FakeProvider, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    project, (module, last) = deploy(), {"create": (creation, "check_spec"), "change": (update, "_new_values")}[verb]
    real = getattr(module, last)

    def go(*args: Any) -> Any:
        Provider.objects.all().delete()
        return real(*args) if verb == "change" else None

    monkeypatch.setattr(module, last, go)
    if verb == "create":
        answer = api.post("/api/projects", PROJECT | {"apiKey": GROQ_KEY, "telegramToken": token_of_bot(72)})
    else:
        answer = api.patch(f"/api/projects/{project.pk}", {"apiKey": GROQ_KEY})
    assert codes_of(answer) == {("settings.provider", "enum")}
    assert Project.objects.get().provider != "groq"


@pytest.mark.django_db(transaction=True)
@pytest.mark.one_database("postgresql")
def test_a_provider_about_to_be_used_is_not_deleted(
    deploy: Callable[..., Project], groq: FakeProvider, admin: Client, caplog: pytest.LogCaptureFixture
) -> None:
    project, answers = deploy(), []
    caplog.set_level(logging.INFO, "berth.audit")

    def delete() -> None:
        answers.append(admin.post(f"{LIST}groq/delete/", {"post": "yes"}).status_code)
        connections.close_all()

    thread = Thread(target=delete)
    with transaction.atomic():
        lock_provider("groq")
        thread.start()
        wait_until(_somebody_waits)
        Project.objects.filter(pk=project.pk).update(provider="groq")
    thread.join(30)
    assert answers == [403]
    assert Provider.objects.exists()
    assert "admin_deleted" not in caplog.text


def _somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


@pytest.mark.django_db
def test_no_form_waits_for_dns_or_the_engine_inside_a_transaction(
    admin: Client, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside, depths = len(connection.atomic_blocks), []

    def noting(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            depths.append(len(connection.atomic_blocks) - outside)
            return real(*args, **kwargs)

        return call

    monkeypatch.setattr(call_limits, "resolve", noting(call_limits.resolve))
    assert admin.post(f"{LIST}add/", GROQ).status_code == 302
    assert depths == [0]
    monkeypatch.setattr(engine, "describe_image", noting(engine.describe_image))
    own = {"slug": "own", "title": "Own", "image": "own:1", "settings_schema": "{}", "min_memory_mb": "64"}
    answer = admin.post(
        "/admin/projects/agenttype/add/", own | {"stop_timeout": "10", "ready_timeout": "9", "egress": "internet"}
    )
    assert answer.status_code == 302, answer.content.decode()
    assert depths == [0, 0]
