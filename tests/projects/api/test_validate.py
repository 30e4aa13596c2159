"""POST /api/projects/validate."""

from typing import Any

from rest_framework.test import APIClient

from projects.models import Project
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem


def test_a_valid_request_is_confirmed_and_nothing_is_created(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine
) -> None:
    answer = api.post("/api/projects/validate", body)
    assert answer.status_code == 200
    assert (answer.json()["valid"], answer.json()["provider"], answer.json()["warnings"]) == (True, "openai", [])
    assert not Project.objects.exists()
    assert not engine.containers


def test_a_dry_run_finds_everything_that_would_stop_a_creation(
    api: APIClient, bobs_api: APIClient, body: dict[str, Any], engine: MemoryEngine
) -> None:
    assert api.post("/api/projects", body).status_code == 201
    assert_problem(api.post("/api/projects/validate", body | {"telegramToken": "9:x"}), 403, "plan_limit_reached")
    assert_problem(bobs_api.post("/api/projects/validate", body), 409, "bot_in_use")
    engine.images.clear()
    assert_problem(bobs_api.post("/api/projects/validate", body), 502, "engine_error")
    engine.unavailable = True
    assert_problem(bobs_api.post("/api/projects/validate", body), 503, "engine_unavailable")


def test_an_unreadable_secret_is_reported_and_nothing_gets_stuck(
    api: APIClient, project: Project, settings: Any
) -> None:
    settings.BERTH_ENCRYPTION_KEYS = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    path = f"/api/projects/{project.id}"
    assert_problem(api.post(f"{path}/control", {"action": "restart"}), 409, "secret_unreadable")
    assert_problem(api.get(f"{path}/logs"), 409, "secret_unreadable")
    api.post(f"{path}/control", {"action": "stop"})
    assert_problem(api.post(f"{path}/control", {"action": "start"}), 409, "secret_unreadable")
    detail = api.get(path).json()
    assert (detail["status"], detail["status_reason"]["code"]) == ("failed", "secret_unreadable")
    api.patch(path, {"telegramToken": "123:new", "apiKey": "sk-new"})
    assert api.post(f"{path}/control", {"action": "start"}).json()["status"] == "running"
