"""POST /api/projects with an Idempotency-Key: a retry gets the first answer, and creates nothing."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from containers.errors import EngineRefusedError
from containers.identity import container_name
from projects.api.idempotency import answer_once
from projects.models import Event, IdempotencyRecord, Project
from projects.models.idempotency import KEPT_FOR
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem
from tests.projects.api.commands import deploys
from tests.projects.api.idempotency.records import KEY, age


def test_a_retry_gets_the_first_answer_with_the_current_status(
    create: Callable[..., Any], api: APIClient, engine: MemoryEngine
) -> None:
    settings = {
        "provider": "openai",
        "model": "small-1",
        "instructions": "Be brief.\nSei nett. 🚢",
        "allowed_users": [7],
    }
    first = create(settings=settings)
    engine.exit(container_name(first.json()["id"]), 1)
    assert api.post(f"{first['Location']}/control", {"action": "stop"}).json()["status"] == "stopped"
    second = create(settings=settings)
    assert (first.status_code, second.status_code) == (201, 201)
    then = json.dumps(first.json()["status"]).encode()
    assert second.content == first.content.replace(b'"status":' + then, b'"status":"stopped"', 1)
    assert second.content != first.content
    assert ("Idempotent-Replayed" in first, second["Idempotent-Replayed"]) == (False, "true")
    assert second["Location"] == first["Location"]
    assert second["Content-Type"] == first["Content-Type"]
    assert (len(engine.containers), Project.objects.count(), deploys(engine)) == (1, 1, 1)
    assert Event.objects.filter(action="deploy").count() == 1


def test_a_retry_gives_the_reason_of_the_current_status(
    create: Callable[..., Any], api: APIClient, engine: MemoryEngine
) -> None:
    first = create()
    assert first.json()["status_reason"] is None
    assert api.post(f"{first['Location']}/control", {"action": "stop"}).status_code == 200
    engine.fail("deploy.start", EngineRefusedError("The disk is full."))
    assert api.post(f"{first['Location']}/control", {"action": "start"}).status_code == 502
    again, now = create().json(), api.get(first["Location"]).json()
    assert (again["status"], again["status_reason"]) == ("failed", now["status_reason"])
    assert again["status_reason"]["code"] == "engine_refused"


def test_the_order_of_the_fields_does_not_matter(
    create: Callable[..., Any], api: APIClient, body: dict[str, Any]
) -> None:
    first = create(plan="free")
    turned = dict(reversed(body.items()))
    assert api.post("/api/projects", turned, headers={"idempotency-key": KEY}).content == first.content


@pytest.mark.parametrize(
    "change", [{"name": "Other"}, {"telegramToken": "5:other"}, {"apiKey": "other"}, {"settings": {}}, {"plan": "free"}]
)
def test_the_key_with_another_body_is_a_422(
    create: Callable[..., Any], engine: MemoryEngine, change: dict[str, Any]
) -> None:
    create()
    assert_problem(create(**change), 422, "idempotency_mismatch")
    assert (len(engine.containers), Project.objects.count()) == (1, 1)


def test_another_key_is_another_request(create: Callable[..., Any]) -> None:
    first = create()
    assert create(key="another").json()["code"] == "bot_in_use"
    second = create(key="another", telegramToken="5:other")
    assert second.status_code == 201
    assert second.json()["id"] != first.json()["id"]


def test_without_a_key_each_request_counts_separately(
    api: APIClient, body: dict[str, Any], engine: MemoryEngine
) -> None:
    assert api.post("/api/projects", body).status_code == 201
    assert api.post("/api/projects", body).status_code == 403
    assert not IdempotencyRecord.objects.exists()


def test_two_users_may_use_the_same_key(create: Callable[..., Any], bobs_api: APIClient, engine: MemoryEngine) -> None:
    mine = create()
    his = create(client=bobs_api, telegramToken="5:bobs", name="Bob's")
    assert (mine.status_code, his.status_code) == (201, 201)
    assert his.json()["name"] == "Bob's"
    assert len(engine.containers) == 2
    assert create().content == mine.content


def test_a_dry_run_ignores_the_key(api: APIClient, body: dict[str, Any]) -> None:
    for name in ("One", "Two"):
        headers = {"idempotency-key": KEY}
        assert api.post("/api/projects/validate", body | {"name": name}, headers=headers).status_code == 200
    assert not IdempotencyRecord.objects.exists()


def test_after_24_hours_a_key_is_new(create: Callable[..., Any]) -> None:
    first = create()
    age(KEPT_FOR - timedelta(seconds=5))
    assert create().content == first.content
    age(KEPT_FOR)
    assert create().json()["code"] == "bot_in_use"
    assert create(telegramToken="5:other").json()["id"] != first.json()["id"]


def test_a_retry_after_the_deletion_creates_nothing_and_reveals_nothing(
    create: Callable[..., Any], api: APIClient, engine: MemoryEngine
) -> None:
    first = create(name="Operation Mincemeat", settings={"instructions": "Say nothing of Mincemeat."})
    assert first.status_code == 201
    assert api.delete(first["Location"]).status_code == 204
    again = create(name="Operation Mincemeat", settings={"instructions": "Say nothing of Mincemeat."})
    assert (again.status_code, again.json()["code"]) == (404, "not_found")
    assert "has been deleted. Use a new key" in again.json()["detail"]
    assert "404" in api.get("/api/schema?format=json").json()["paths"]["/api/projects"]["post"]["responses"]
    assert "Mincemeat" not in str([vars(record) for record in IdempotencyRecord.objects.all()])
    assert not engine.containers


def test_a_deletion_that_is_faster_than_the_answer_leaves_no_name_either(
    alice: User, api: APIClient, project: Project
) -> None:
    def make(project_id: UUID) -> dict[str, Any]:
        IdempotencyRecord.objects.update(project_id=project.pk)
        assert api.delete(f"/api/projects/{project.pk}").status_code == 204
        return {"name": "Operation Mincemeat"}

    answer_once(owner=alice, key="k", body={}, make=make)
    assert "Mincemeat" not in str([vars(record) for record in IdempotencyRecord.objects.all()])


def test_the_record_holds_no_credential_and_no_plain_digest(create: Callable[..., Any]) -> None:
    create()
    create(key="again", telegramToken="5:other")
    [one, two] = IdempotencyRecord.objects.order_by("pk")
    stored = f"{vars(one)}{vars(two)}"
    assert CANARY_API_KEY not in stored
    assert CANARY_TELEGRAM_TOKEN.partition(":")[2] not in stored
    assert one.digest != two.digest


def test_the_same_body_of_two_users_has_two_digests(
    create: Callable[..., Any], bobs_api: APIClient, api: APIClient
) -> None:
    first = create()
    assert api.delete(first["Location"]).status_code == 204
    assert create(client=bobs_api).status_code == 201
    [one, two] = IdempotencyRecord.objects.order_by("pk")
    assert one.digest != two.digest
