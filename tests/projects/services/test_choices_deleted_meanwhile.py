"""Staff delete a plan or a type during a deploy with it. That is a plain refusal, never a 500."""

from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
from django.db import connection, connections
from rest_framework.test import APIClient

from projects.models import AgentType, Plan, Project
from projects.services.commands import admission, creation, update
from tests.fakes.engine import MemoryEngine
from tests.problem_document import codes_of
from tests.projects.services.races import once

pytestmark = pytest.mark.django_db(transaction=True)

CHOICES = {"type": AgentType, "plan": Plan}


@pytest.fixture(autouse=True)
def _spare() -> None:
    """Adds rows like the others, which no project uses yet."""
    for model, slug in ((AgentType, "assistant"), (Plan, "pro")):
        row = model._default_manager.get(slug=slug)
        row.pk, row.is_default = "spare", False
        row.save(force_insert=True)


def delete(choice: str) -> None:
    CHOICES[choice]._default_manager.filter(pk="spare").delete()


def delete_elsewhere(choice: str) -> None:
    """Deletes in a transaction of its own."""

    def go() -> None:
        delete(choice)
        connections.close_all()

    thread = Thread(target=go)
    thread.start()
    thread.join()


def meanwhile(monkeypatch: pytest.MonkeyPatch, module: Any, choice: str) -> None:
    """Deletes the row within the transaction that has just found room on the plan."""
    real: Callable[..., None] = module.claim_bot

    def claim(**given: Any) -> None:
        delete_elsewhere(choice)
        real(**given)

    monkeypatch.setattr(module, "claim_bot", claim)


@pytest.mark.parametrize("choice", CHOICES)
def test_a_choice_deleted_before_the_row_is_written_is_refused(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine, choice: str
) -> None:
    once(engine, "image_exists", lambda: delete(choice))
    answer = api.post("/api/projects", body | {choice: "spare"})
    assert codes_of(answer) == {(choice, "unknown_choice")}
    assert answer.json()["detail"] == f"The {choice} spare no longer exists. Choose another."
    assert not Project.objects.exists()
    assert not engine.containers


def test_a_plan_deleted_before_a_change_is_written_is_refused(
    api: APIClient, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = admission.check_plan_limit

    def check(**given: Any) -> None:
        delete("plan")
        find(**given)

    monkeypatch.setattr(update, "check_plan_limit", check)
    answer = api.patch(f"/api/projects/{project.pk}", {"plan": "spare"})
    assert codes_of(answer) == {("plan", "unknown_choice")}
    assert Project.objects.get().plan_id == project.plan_id


@pytest.mark.one_database("postgresql")
@pytest.mark.parametrize("choice", CHOICES)
def test_a_choice_deleted_while_the_row_is_written_is_refused(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, choice: str
) -> None:
    """SQLite has one writer."""
    assert connection.vendor == "postgresql"
    meanwhile(monkeypatch, creation, choice)
    answer = api.post("/api/projects", body | {choice: "spare"})
    assert codes_of(answer) == {(choice, "unknown_choice")}
    assert not Project.objects.exists()
    assert not engine.containers


@pytest.mark.one_database("postgresql")
def test_a_plan_deleted_during_a_change_is_refused(
    api: APIClient, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile(monkeypatch, update, "plan")
    answer = api.patch(f"/api/projects/{project.pk}", {"plan": "spare", "telegramToken": "555:another-bot"})
    assert codes_of(answer) == {("plan", "unknown_choice")}
    assert Project.objects.get().plan_id == project.plan_id
