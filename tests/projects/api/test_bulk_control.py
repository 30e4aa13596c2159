"""POST /api/projects/control: one command for many projects, and a result for each."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import Scope, User
from accounts.services.api_keys import issue_api_key
from containers.errors import EngineRefusedError
from projects.api.viewsets import bulk_control
from projects.models import Event, IdempotencyRecord, Project
from tests.clients import Call
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem, codes_of
from tests.projects.api.commands import in_flight

pytestmark = pytest.mark.one_database
PATH = "/api/projects/control"


@pytest.fixture
def three(deploy: Callable[..., Project]) -> list[str]:
    made = [deploy(name=f"Ship {number}", plan="pro", telegramToken=f"{number}:bot") for number in (5, 6, 7)]
    return [str(project.pk) for project in made]


def send(api: APIClient, ids: list[str], action: str = "stop", **headers: str) -> Any:
    return api.post(PATH, {"ids": ids, "action": action}, headers=headers)


def outcomes(answer: Any) -> list[tuple[str, str | None, str | None]]:
    """Returns outcome, status and code of each result."""
    assert answer.status_code == 200, answer.content
    results = answer.json()["results"]
    return [(each["outcome"], each["status"], each["problem"] and each["problem"]["code"]) for each in results]


def test_each_is_commanded_in_the_order_of_the_request(api: APIClient, three: list[str]) -> None:
    answer = send(api, three[::-1])
    assert [each["id"] for each in answer.json()["results"]] == three[::-1]
    assert outcomes(answer) == [("done", "stopped", None)] * 3
    assert outcomes(send(api, three[:2], "start")) == [("done", "running", None)] * 2
    assert outcomes(send(api, three, "restart")) == [("done", "running", None)] * 3
    assert Event.objects.filter(action="stop").count() == 3
    assert {event.source for event in Event.objects.filter(action="restart")} == {"session"}


def test_a_refused_project_blocks_no_other(api: APIClient, three: list[str], engine: MemoryEngine) -> None:
    gone = str(uuid4())
    busy = Project.objects.get(pk=three[1])
    in_flight(busy, "restart")
    assert outcomes(send(api, [gone, three[1], three[2]], "restart")) == [
        ("refused", None, "not_found"),
        ("refused", "restarting", "operation_in_progress"),
        ("done", "running", None),
    ]
    told = send(api, [three[1]], "restart").json()["results"][0]["problem"]
    alone = api.post(f"/api/projects/{three[1]}/control", {"action": "restart"})
    assert (told["status"], told["retry_after"]) == (alone.status_code, int(alone["Retry-After"]))
    assert told["detail"] == alone.json()["detail"].replace(f"“{busy.name}”", "The project")
    engine.fail("stop", EngineRefusedError)
    assert outcomes(send(api, [three[0], three[2]]))[0][::2] == ("refused", "engine_error")


def test_nobody_commands_the_projects_of_another(bobs_api: APIClient, three: list[str], engine: MemoryEngine) -> None:
    before = list(engine.calls)
    strange = [str(uuid4()) for _ in three]
    answer, nothing = send(bobs_api, three), send(bobs_api, strange)
    assert outcomes(answer) == outcomes(nothing) == [("refused", None, "not_found")] * 3
    content = answer.content
    for hers, nobodys in zip(three, strange, strict=True):
        content = content.replace(hers.encode(), nobodys.encode())
    assert content == nothing.content
    assert "Ship" not in answer.content.decode()
    assert not Event.objects.filter(action="stop").exists()
    assert [call for call in engine.calls if call not in before and call[0] != "observe"] == []


def test_a_key_that_may_only_read_commands_nothing(call: Call, alice: User, three: list[str]) -> None:
    _, key = issue_api_key(user=alice, session=None, name="k", scope=Scope.READ, lifetime_days=30)
    assert_problem(call("POST", PATH, {"ids": three, "action": "stop"}, by=key), 403, "permission_denied")


def test_thousands_of_wrong_ids_make_a_short_answer(api: APIClient) -> None:
    many: tuple[list[Any], ...] = (["x"] * 10_000, [None] * 10_000, [[]] * 20_000, ["x"] * 51)
    for ids in many:
        answer = api.post(PATH, {"ids": ids, "action": "stop"})
        assert_problem(answer, 400, "invalid", field="ids")
        assert codes_of(answer) == {("ids", "max_length")}
        assert len(answer.content) < 1000


def test_each_project_counts_as_a_command(api: APIClient, three: list[str], settings: Settings) -> None:
    settings.BERTH_LIMITS = {"reads": 600, "commands": 2, "deploys": 20}
    answer = send(api, three)
    assert outcomes(answer) == [("done", "stopped", None)] * 2 + [("left", "running", "throttled")]
    assert answer.json()["results"][2]["problem"]["retry_after"] >= 1
    assert_problem(send(api, three), 429, "throttled")


def test_projects_beyond_the_time_limit_are_left(
    api: APIClient, three: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_control, "BEGIN_WITHIN", 0.0)
    assert outcomes(send(api, three)) == [
        ("done", "stopped", None), ("left", "running", "time_over"), ("left", "running", "time_over"),
    ]  # fmt: skip


def test_a_token_revoked_during_the_request_sends_no_further_command(
    api: APIClient, three: list[str], engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accounts.services.still_signed_in.ASK_AGAIN_AFTER", 0.0)
    engine.slow("stop", lambda: User.objects.update(is_active=False))
    assert_problem(send(api, three), 401, "invalid_token")
    assert Event.objects.filter(action="stop").count() == 1


def test_a_retry_gets_the_first_results_with_current_statuses(api: APIClient, three: list[str]) -> None:
    ids = [*three, str(uuid4())]
    first = send(api, ids, **{"idempotency-key": "k"})
    assert outcomes(send(api, three[:1], "start")) == [("done", "running", None)]
    again = send(api, ids, **{"idempotency-key": "k"})
    assert ("Idempotent-Replayed" in first, again["Idempotent-Replayed"]) == (False, "true")
    assert [each[1] for each in outcomes(again)] == ["running", "stopped", "stopped", None]
    assert Event.objects.filter(action="stop").count() == 3
    assert_problem(send(api, three, **{"idempotency-key": "k"}), 422, "idempotency_mismatch")


def test_no_name_of_a_project_is_kept_for_a_retry(api: APIClient, three: list[str]) -> None:
    in_flight(Project.objects.get(pk=three[0]), "restart")
    send(api, three[:1], "restart", **{"idempotency-key": "k"})
    assert "Ship" not in str([vars(record) for record in IdempotencyRecord.objects.all()])


BAD: list[tuple[Any, str]] = [
    ({"action": "stop"}, "ids"), ({"ids": [], "action": "stop"}, "ids"), ({"ids": None, "action": "stop"}, "ids"),
    ({"ids": "{id}", "action": "stop"}, "ids"), ({"ids": {"0": "{id}"}, "action": "stop"}, "ids"),
    ({"ids": ["{id}", "{id}"], "action": "stop"}, "ids"), ({"ids": ["{id}", "{ID}"], "action": "stop"}, "ids"),
    ({"ids": ["x"], "action": "stop"}, "ids.0"), ({"ids": ["{id}", 7], "action": "stop"}, "ids.1"),
    ({"ids": [["{id}"]], "action": "stop"}, "ids.0"), ({"ids": [None], "action": "stop"}, "ids.0"),
    ({"ids": ["{id}"]}, "action"),
    ({"ids": ["{id}"], "action": "delete"}, "action"), ({"ids": ["{id}"], "action": ["stop"]}, "action"),
    ({"ids": ["{id}"], "action": "stop", "wait": 3}, "wait"), ({"Ids": ["{id}"], "action": "stop"}, "Ids"),
    ({"ids": [str(uuid4()) for _ in range(51)], "action": "stop"}, "ids"),
    ({"ids": ["urn:uuid:{id}"], "action": "stop"}, "ids.0"), ({"ids": ["{id}\n"], "action": "stop"}, "ids.0"),
]  # fmt: skip


def test_an_invalid_request_is_explained_and_sends_no_command(api: APIClient, project: Project) -> None:
    def fill(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace("{id}", str(project.pk)).replace("{ID}", str(project.pk).upper())
        if isinstance(value, list):
            return [fill(each) for each in value]
        return {name: fill(each) for name, each in value.items()} if isinstance(value, dict) else value

    for body, field in BAD:
        assert_problem(api.post(PATH, fill(body)), 400, "invalid", field=field)
    assert_problem(api.post(PATH, {"ids": [project.pk.hex], "action": "stop"}), 400, "invalid", field="ids.0")
    for content in ("[]", '"stop"', "null", "7"):
        assert_problem(api.generic("POST", PATH, content, "application/json"), 400, "invalid")
    assert not Event.objects.filter(action="stop").exists()
