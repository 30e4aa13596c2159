"""POST /api/projects."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from containers.errors import EngineRefusedError, EngineUnavailableError, ImageMissingError
from containers.identity import container_name, own_labels
from projects.models import Event, Plan, Project
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine
from tests.projects.given_credentials import credentials_of

DETAIL = {
    "id", "name", "status", "plan", "created_at", "type", "settings", "bot", "provider", "telegram_token_hint",
    "api_key_hint", "status_reason", "status_checked_at", "last_known_status", "restarts", "started_at", "updated_at",
    "disk", "usage", "egress", "models", "image",
}  # fmt: skip


def test_a_project_is_deployed_and_running(api: APIClient, body: dict[str, Any], engine: MemoryEngine) -> None:
    answer = api.post("/api/projects", body)
    assert answer.status_code == 201
    detail = answer.json()
    assert set(detail) == DETAIL
    assert answer["Location"] == f"/api/projects/{detail['id']}"
    assert (detail["name"], detail["status"], detail["plan"]) == ("Harbour pilot", "running", "free")
    assert detail["created_at"].endswith("Z")
    assert detail["bot"]["id"] == int(CANARY_TELEGRAM_TOKEN.partition(":")[0])
    assert engine.containers[container_name(detail["id"])].state == "running"


def test_the_container_gets_the_plan_the_labels_and_the_secrets(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine
) -> None:
    settings = {"model": "small-1", "instructions": "Be brief.\nBe kind.", "allowed_users": [7, "@alice"]}
    project = Project.objects.get(pk=api.post("/api/projects", body | {"settings": settings}).json()["id"])
    container = engine.containers[project.container_name]
    assert container.spec is not None
    assert (container.spec.memory, container.spec.nano_cpus, container.spec.pids) == (256 << 20, 250_000_000, 128)
    assert container.labels == {
        **own_labels(),
        "berth.project": str(project.id),
        "berth.owner": str(project.owner_id),
        "berth.generation": "1",
        "berth.user": str(project.uid),
        "berth.address": str(project.address),
    }
    assert container.spec.environment == {
        "TELEGRAM_API_BASE": "http://172.30.0.2:8080/tg",
        "AGENT_API_BASE": "http://172.30.0.2:8080/llm/v1",
        "AGENT_PROVIDER": "openai",
        "AGENT_MODEL": "small-1",
        "AGENT_INSTRUCTIONS": "Be brief.\nBe kind.",
        "AGENT_ALLOWED_USERS": "7,@alice",
        "AGENT_SETTINGS": '{"allowed_users":[7,"@alice"],"instructions":"Be brief.\\nBe kind.","model":"small-1"}',
    }
    assert credentials_of(engine, project) == {
        "telegram_bot_token": CANARY_TELEGRAM_TOKEN,
        "agent_api_key": CANARY_API_KEY,
    }


def test_credentials_are_kept_encrypted_and_answered_as_hints(project: Project, api: APIClient) -> None:
    detail = api.get(f"/api/projects/{project.id}").json()
    assert detail["telegram_token_hint"] == CANARY_TELEGRAM_TOKEN[-4:]
    assert detail["api_key_hint"] == CANARY_API_KEY[-4:]
    assert CANARY_API_KEY not in project.api_key_ciphertext
    assert project.decrypt_credential("api_key") == CANARY_API_KEY


def test_type_and_plan_have_defaults(api: APIClient, body: dict[str, Any], engine: MemoryEngine) -> None:
    del body["type"], body["plan"]
    detail = api.post("/api/projects", body).json()
    assert (detail["type"], detail["plan"]) == ("assistant", "free")


def test_text_is_trimmed(api: APIClient, body: dict[str, Any], engine: MemoryEngine) -> None:
    detail = api.post(
        "/api/projects", body | {"name": "  Pilot ", "telegramToken": f" {CANARY_TELEGRAM_TOKEN}\n"}
    ).json()
    assert detail["name"] == "Pilot"
    project = Project.objects.get(pk=detail["id"])
    assert credentials_of(engine, project)["telegram_bot_token"] == CANARY_TELEGRAM_TOKEN


def test_names_may_repeat(deploy: Any) -> None:
    assert deploy().name == deploy(telegramToken="999:another").name


def test_the_plan_limits_how_many(api: APIClient, body: dict[str, Any], engine: MemoryEngine) -> None:
    assert api.post("/api/projects", body).status_code == 201
    answer = api.post("/api/projects", body | {"telegramToken": "999:another"})
    assert answer.status_code == 403
    assert answer.json()["code"] == "plan_limit_reached"
    assert len(engine.containers) == 1


def test_a_bot_runs_in_one_project_only(
    project: Project, body: dict[str, Any], bobs_api: APIClient, engine: MemoryEngine
) -> None:
    answer = bobs_api.post("/api/projects", body)
    assert answer.status_code == 409
    assert answer.json()["code"] == "bot_in_use"
    assert str(project.id) not in answer.content.decode()
    assert project.name not in answer.content.decode()
    assert len(engine.containers) == 1


def test_a_plan_below_the_types_minimum_is_refused(api: APIClient, body: dict[str, Any]) -> None:
    Plan.objects.create(slug="tiny", memory_mb=64, cpus=1, max_projects=9, open_to_all=True)
    answer = api.post("/api/projects", body | {"plan": "tiny"})
    assert answer.status_code == 400
    assert answer.json()["errors"][0] == {
        "field": "plan",
        "code": "plan_too_small",
        "detail": "The assistant agent needs 128 MB of memory. Choose a larger plan.",
    }


@pytest.mark.parametrize(
    ("verb", "error", "status", "code"),
    [
        ("image_exists", EngineUnavailableError, 503, "engine_unavailable"),
        ("deploy.create", EngineUnavailableError, 503, "engine_unavailable"),
        ("deploy.create", EngineRefusedError, 502, "engine_error"),
        ("deploy.start", EngineRefusedError, 502, "engine_error"),
        ("deploy.create", ImageMissingError, 502, "engine_error"),
    ],
)
def test_a_creation_that_the_engine_refuses_leaves_nothing_behind(
    verb: str, error: Any, status: int, code: str, api: APIClient, body: dict[str, Any], engine: MemoryEngine
) -> None:
    engine.fail(verb, error)
    answer = api.post("/api/projects", body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert not Project.objects.exists()
    assert not engine.containers
    assert not engine.volumes
    assert api.post("/api/projects", body).status_code == 201


def test_a_missing_image_is_reported_before_anything_is_created(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine
) -> None:
    engine.images.clear()
    answer = api.post("/api/projects", body)
    assert answer.status_code == 502
    assert "not on the engine" in answer.json()["detail"]
    assert not Event.objects.exists()


def test_a_lost_answer_of_the_engine_leaves_nothing_behind(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine
) -> None:
    engine.lose("deploy")
    assert api.post("/api/projects", body).status_code == 503
    assert not engine.containers
    assert not Project.objects.exists()


def test_an_engine_that_falls_silent_in_mid_deploy_leaves_a_deletion_to_finish(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine
) -> None:
    def fall_silent() -> None:
        engine.unavailable = True

    engine.slow("deploy.start", fall_silent)
    assert api.post("/api/projects", body).status_code == 503
    assert [entry["status"] for entry in api.get("/api/projects").json()] == ["deleting"]
    engine.unavailable = False
    engine.slow("deploy.start", None)
    assert api.post("/api/projects", body).status_code == 201  # neither the bot nor the plan is taken


def test_the_deploy_is_in_the_events(project: Project, api: APIClient) -> None:
    events = api.get(f"/api/projects/{project.id}/events").json()
    assert [(event["actor"], event["source"], event["action"], event["outcome"]) for event in events] == [
        ("alice@example.com", "session", "deploy", "done")
    ]
