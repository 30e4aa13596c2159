"""PATCH /api/projects/{id} with another token: each bot serves one project."""

from typing import Any

from rest_framework.test import APIClient

from projects.models import Project
from tests.canaries import CANARY_OTHER_TELEGRAM_TOKEN, CANARY_TELEGRAM_TOKEN
from tests.problem_document import assert_problem
from tests.projects.api.commands import Change


def test_a_bot_of_another_project_is_refused_and_nothing_changes(
    change: Change, project: Project, bobs_api: APIClient, body: dict[str, Any]
) -> None:
    his = bobs_api.post("/api/projects", body | {"telegramToken": CANARY_OTHER_TELEGRAM_TOKEN, "name": "Bob's"}).json()
    before = Project.objects.filter(pk=project.pk).values().get()
    answer = change(telegramToken=CANARY_OTHER_TELEGRAM_TOKEN, name="Renamed")
    assert_problem(answer, 409, "bot_in_use")
    assert his["id"] not in answer.content.decode()
    assert "Bob" not in answer.content.decode()
    assert Project.objects.filter(pk=project.pk).values().get() == before


def test_a_new_token_of_the_same_bot_is_fine(change: Change, project: Project) -> None:
    renewed = CANARY_TELEGRAM_TOKEN.partition(":")[0] + ":renewed-by-botfather"
    assert change(telegramToken=renewed).status_code == 200
    project.refresh_from_db()
    assert project.decrypt_credential("telegram_token") == renewed


def test_the_old_bot_is_free_for_others(change: Change, bobs_api: APIClient, body: dict[str, Any]) -> None:
    change(telegramToken=CANARY_OTHER_TELEGRAM_TOKEN)
    assert bobs_api.post("/api/projects", body).status_code == 201
