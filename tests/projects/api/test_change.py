"""PATCH /api/projects/{id}."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from containers.errors import EngineRefusedError, EngineUnavailableError
from projects.models import AgentType, Event, Plan, Project
from tests.canaries import CANARY_API_KEY, CANARY_OTHER_API_KEY, CANARY_OTHER_TELEGRAM_TOKEN, CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem, codes_of

Change = Callable[..., Any]


@pytest.fixture
def change(api: APIClient, project: Project) -> Change:
    """Change fields of Alice's project."""

    def send(*, query: str = "", client: APIClient = api, **fields: Any) -> Any:
        return client.patch(f"/api/projects/{project.id}{query}", fields)

    return send


def deploys(engine: MemoryEngine) -> int:
    return [verb for verb, _ in engine.calls].count("deploy")


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"name": " Renamed 🚢 "}, {"name": "Renamed 🚢"}),
        ({"plan": "starter"}, {"plan": "starter"}),
        ({"settings": {"model": "small-2"}}, {"settings": {"model": "small-2"}}),
        ({"settings": {}}, {"settings": {}}),
        ({"settings": {"provider": "anthropic"}}, {"provider": "anthropic"}),
        ({"apiKey": "sk-ant-another-key-of-mine"}, {"provider": "anthropic", "api_key_hint": "mine"}),
        (
            {"telegramToken": CANARY_OTHER_TELEGRAM_TOKEN},
            {"telegram_token_hint": "n8Ry", "bot": {"id": 987654322, "username": "", "url": ""}},
        ),
    ],
)
def test_each_field_can_be_changed_alone(
    change: Change, project: Project, api: APIClient, fields: dict[str, Any], shown: dict[str, Any]
) -> None:
    before = api.get(f"/api/projects/{project.id}").json()
    answer = change(**fields)
    assert answer.status_code == 200
    detail = answer.json()
    assert {name: detail[name] for name in shown} == shown
    same = (
        set(before)
        - set(shown)
        - {"updated_at", "status_checked_at", "telegram_token_hint", "api_key_hint", "settings"}
    )
    assert {name: detail[name] for name in same} == {name: before[name] for name in same}
    assert detail["updated_at"] > before["updated_at"]
    assert api.get(f"/api/projects/{project.id}").json()["updated_at"] == detail["updated_at"]


def test_settings_are_replaced_and_not_merged(change: Change) -> None:
    change(settings={"model": "small-1", "allowed_users": [7]})
    assert change(settings={"model": "small-2"}).json()["settings"] == {"model": "small-2"}


def test_a_change_of_nothing_is_fine_and_no_event(change: Change, project: Project) -> None:
    assert change().status_code == 200
    assert not Event.objects.filter(project_id=project.id, action="update").exists()


def test_a_change_waits_for_the_next_start(change: Change, project: Project, engine: MemoryEngine) -> None:
    answer = change(
        apiKey=CANARY_OTHER_API_KEY,
        telegramToken=CANARY_OTHER_TELEGRAM_TOKEN,
        settings={"model": "small-2"},
        plan="starter",
    )
    assert (answer.status_code, answer.json()["status"]) == (200, "running")
    assert deploys(engine) == 1
    assert engine.secrets_of(project.container_name)["agent_api_key"] == CANARY_API_KEY


def test_restart_true_applies_it_now(change: Change, project: Project, engine: MemoryEngine) -> None:
    before = engine.containers[project.container_name].container_id
    answer = change(
        query="?restart=true",
        apiKey=CANARY_OTHER_API_KEY,
        telegramToken=CANARY_OTHER_TELEGRAM_TOKEN,
        settings={"model": "small-2"},
        plan="starter",
    )
    assert (answer.status_code, answer.json()["status"]) == (200, "running")
    container = engine.containers[project.container_name]
    assert container.container_id != before
    assert engine.secrets_of(project.container_name) == {
        "telegram_bot_token": CANARY_OTHER_TELEGRAM_TOKEN,
        "agent_api_key": CANARY_OTHER_API_KEY,
    }
    assert container.spec is not None
    assert container.spec.memory == 512 << 20
    assert container.spec.environment["AGENT_MODEL"] == "small-2"


def test_restart_false_is_the_default(change: Change, engine: MemoryEngine) -> None:
    assert change(query="?restart=false", name="Renamed").status_code == 200
    assert deploys(engine) == 1


def test_a_stopped_project_gets_it_at_its_start(
    change: Change, project: Project, api: APIClient, engine: MemoryEngine
) -> None:
    api.post(f"/api/projects/{project.id}/control", {"action": "stop"})
    assert change(apiKey=CANARY_OTHER_API_KEY).json()["status"] == "stopped"
    api.post(f"/api/projects/{project.id}/control", {"action": "start"})
    assert engine.secrets_of(project.container_name)["agent_api_key"] == CANARY_OTHER_API_KEY


def test_a_restart_that_the_engine_cannot_do_is_said_and_the_change_stays(
    change: Change, project: Project, engine: MemoryEngine
) -> None:
    engine.unavailable = True
    assert_problem(change(query="?restart=true", name="Renamed"), 503, "engine_unavailable")
    project.refresh_from_db()
    assert (project.name, project.operation) == ("Renamed", "")


def test_a_restart_that_the_engine_refuses_is_a_502(change: Change, engine: MemoryEngine) -> None:
    engine.fail("deploy.create", EngineRefusedError)
    assert_problem(change(query="?restart=true", name="Renamed"), 502, "engine_error")


def test_a_change_needs_no_engine(change: Change, engine: MemoryEngine) -> None:
    engine.fail("inspect", EngineUnavailableError, times=99)
    engine.unavailable = True
    answer = change(name="Renamed")
    assert (answer.status_code, answer.json()["name"]) == (200, "Renamed")


def test_credentials_are_kept_encrypted(change: Change, project: Project) -> None:
    change(apiKey=CANARY_OTHER_API_KEY, telegramToken=CANARY_OTHER_TELEGRAM_TOKEN)
    project.refresh_from_db()
    assert CANARY_OTHER_API_KEY not in project.api_key_ciphertext
    assert project.decrypt_credential("api_key") == CANARY_OTHER_API_KEY
    assert project.decrypt_credential("telegram_token") == CANARY_OTHER_TELEGRAM_TOKEN
    assert (project.telegram_token_hint, project.api_key_hint) == (
        CANARY_OTHER_TELEGRAM_TOKEN[-4:],
        CANARY_OTHER_API_KEY[-4:],
    )


def test_a_change_is_in_the_events_without_its_values(change: Change, project: Project, api: APIClient) -> None:
    change(name="Renamed", apiKey=CANARY_OTHER_API_KEY)
    event = api.get(f"/api/projects/{project.id}/events").json()[0]
    assert (event["action"], event["outcome"], event["actor"]) == ("update", "done", "alice@example.com")
    assert event["detail"] == "changed: api_key, name, provider"


# -- limits -----------------------------------------------------------------------------------------------------------


def test_the_limit_of_the_new_plan_counts(deploy: Callable[..., Project], api: APIClient) -> None:
    one, two = deploy(), deploy(telegramToken="5:other")
    assert api.patch(f"/api/projects/{one.id}", {"plan": "free"}).status_code == 200
    assert_problem(api.patch(f"/api/projects/{two.id}", {"plan": "free"}), 403, "plan_limit_reached")
    two.refresh_from_db()
    assert two.plan_id == "pro"


def test_the_plan_that_it_has_is_no_change(deploy: Callable[..., Project], api: APIClient) -> None:
    project = deploy()
    Plan.objects.filter(slug="pro").update(max_projects=1)
    assert api.patch(f"/api/projects/{project.id}", {"plan": "pro"}).status_code == 200


def test_another_owners_projects_do_not_count(change: Change, bobs_api: APIClient, body: dict[str, Any]) -> None:
    assert bobs_api.post("/api/projects", body | {"telegramToken": "5:bobs"}).status_code == 201
    assert change(plan="free").status_code == 200


def test_a_plan_with_too_little_memory_for_the_type_is_refused(change: Change) -> None:
    AgentType.objects.update(min_memory_mb=257)
    answer = change(plan="free")
    assert_problem(answer, 400, "invalid")
    assert codes_of(answer) == {("plan", "plan_too_small")}


def test_a_plan_that_is_no_longer_offered_may_be_kept_but_not_chosen(change: Change) -> None:
    Plan.objects.filter(slug__in=["pro", "starter"]).update(available=False)
    assert change(name="Renamed").status_code == 200
    assert codes_of(change(plan="starter")) == {("plan", "unknown_choice")}


# -- one bot, one project ---------------------------------------------------------------------------------------------


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


# -- whose ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{"name": "Mine now"}, {}, {"apiKey": "sk-of-bobs"}, {"name": ""}, {"nothing": 1}])
@pytest.mark.parametrize("query", ["", "?restart=true", "?restart=x"])
def test_a_stranger_is_told_what_anybody_is_told_of_an_id_that_never_was(
    change: Change, project: Project, bobs_api: APIClient, fields: dict[str, Any], query: str
) -> None:
    before = Project.objects.filter(pk=project.pk).values().get()
    his = change(client=bobs_api, query=query, **fields)
    never = bobs_api.patch(f"/api/projects/{uuid4()}{query}", fields)
    assert_problem(his, 404, "not_found")
    assert his.json() | {"request_id": ""} == never.json() | {"request_id": ""}
    assert Project.objects.filter(pk=project.pk).values().get() == before


def test_a_project_that_is_being_deleted_changes_no_more(
    change: Change, project: Project, api: APIClient, engine: MemoryEngine
) -> None:
    engine.unavailable = True
    assert api.delete(f"/api/projects/{project.id}").status_code == 202
    for fields in ({"name": "Renamed"}, {"apiKey": CANARY_OTHER_API_KEY}, {}):
        answer = change(**fields)
        assert_problem(answer, 409, "operation_in_progress")
        assert answer["Retry-After"]
    project.refresh_from_db()
    assert project.name == "Harbour pilot"


def test_a_gone_project_is_a_404(change: Change, project: Project, api: APIClient) -> None:
    assert api.delete(f"/api/projects/{project.id}").status_code == 204
    assert_problem(change(name="Renamed"), 404, "not_found")


@pytest.mark.parametrize("method", ["put", "post"])
def test_a_project_is_changed_by_patch_only(project: Project, api: APIClient, method: str) -> None:
    answer = getattr(api, method)(f"/api/projects/{project.id}", {"name": "Renamed"})
    assert_problem(answer, 405, "method_not_allowed")
