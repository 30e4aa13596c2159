"""PATCH /api/projects/{id}: what it changes, what it keeps, and for whom."""

from typing import Any
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from projects.models import Event, Project
from tests.canaries import CANARY_OTHER_API_KEY, CANARY_OTHER_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem
from tests.projects.api.commands import Change


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
            {"telegram_token_hint": "n8Ry", "bot": {"id": 987654322, "username": "", "url": "", "paired": None}},
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
        - {"disk", "usage", "updated_at", "status_checked_at", "telegram_token_hint", "api_key_hint", "settings"}
    )
    assert {name: detail[name] for name in same} == {name: before[name] for name in same}
    assert detail["updated_at"] > before["updated_at"]
    assert api.get(f"/api/projects/{project.id}").json()["updated_at"] == detail["updated_at"]


def test_a_change_of_nothing_is_fine_and_no_event(change: Change, project: Project) -> None:
    assert change().status_code == 200
    assert not Event.objects.filter(project_id=project.id, action="update").exists()


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


def test_a_change_is_recorded_in_the_events_without_its_values(
    change: Change, project: Project, api: APIClient
) -> None:
    change(name="Renamed", apiKey=CANARY_OTHER_API_KEY)
    event = api.get(f"/api/projects/{project.id}/events").json()[0]
    assert (event["action"], event["outcome"], event["actor"]) == ("update", "done", "alice@example.com")
    assert event["detail"] == "changed: api_key, name"


@pytest.mark.parametrize("fields", [{"name": "Mine now"}, {}, {"apiKey": "sk-of-bobs"}, {"name": ""}, {"nothing": 1}])
@pytest.mark.parametrize("query", ["", "?restart=true", "?restart=x"])
def test_a_stranger_gets_the_same_404_as_for_an_unknown_id(
    change: Change, project: Project, bobs_api: APIClient, fields: dict[str, Any], query: str
) -> None:
    before = Project.objects.filter(pk=project.pk).values().get()
    his = change(client=bobs_api, query=query, **fields)
    never = bobs_api.patch(f"/api/projects/{uuid4()}{query}", fields)
    assert_problem(his, 404, "not_found")
    assert his.json() | {"request_id": ""} == never.json() | {"request_id": ""}
    assert Project.objects.filter(pk=project.pk).values().get() == before


def test_a_project_that_is_being_deleted_cannot_be_changed(
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
