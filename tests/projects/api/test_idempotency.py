"""POST /api/projects with an Idempotency-Key: a retry gets the first answer, and makes nothing new."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from containers.errors import EngineRefusedError, EngineUnavailableError
from projects.models import Event, IdempotencyRecord, Plan, Project
from projects.models.idempotency import KEPT_FOR, PENDING_FOR
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.clients import api_of
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem
from tests.waiting import wait_until

KEY = "3f1c9f6e-retry"


@pytest.fixture
def create(api: APIClient, body: dict[str, Any], engine: MemoryEngine) -> Callable[..., Any]:
    """Post the good request under the key; fields change its body."""

    def post(*, client: APIClient = api, key: str = KEY, **fields: Any) -> Any:
        return client.post("/api/projects", body | {"plan": "pro"} | fields, headers={"idempotency-key": key})

    return post


def deploys(engine: MemoryEngine) -> int:
    return [verb for verb, _ in engine.calls].count("deploy")


def age(seconds: timedelta) -> None:
    IdempotencyRecord.objects.update(created_at=timezone.now() - seconds)


def test_a_retry_gets_the_first_answer_byte_for_byte(create: Callable[..., Any], engine: MemoryEngine) -> None:
    settings = {
        "provider": "openai",
        "model": "small-1",
        "instructions": "Be brief.\nSei nett. 🚢",
        "allowed_users": [7],
    }
    first = create(settings=settings)
    engine.exit(f"berth-{first.json()['id']}", 1)
    second = create(settings=settings)
    assert (first.status_code, second.status_code) == (201, 201)
    assert second.content == first.content
    assert second["Location"] == first["Location"]
    assert second["Content-Type"] == first["Content-Type"]
    assert (len(engine.containers), Project.objects.count(), deploys(engine)) == (1, 1, 1)
    assert Event.objects.filter(action="deploy").count() == 1


def test_the_order_of_the_fields_is_no_difference(
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


def test_without_a_key_each_request_is_its_own(api: APIClient, body: dict[str, Any], engine: MemoryEngine) -> None:
    assert api.post("/api/projects", body).status_code == 201
    assert api.post("/api/projects", body).status_code == 403
    assert not IdempotencyRecord.objects.exists()


def test_two_users_with_one_key_do_not_meet(
    create: Callable[..., Any], bobs_api: APIClient, engine: MemoryEngine
) -> None:
    mine = create()
    his = create(client=bobs_api, telegramToken="5:bobs", name="Bob's")
    assert (mine.status_code, his.status_code) == (201, 201)
    assert his.json()["name"] == "Bob's"
    assert len(engine.containers) == 2
    assert create().content == mine.content


def test_a_dry_run_takes_no_notice_of_the_key(api: APIClient, body: dict[str, Any]) -> None:
    for name in ("One", "Two"):
        headers = {"idempotency-key": KEY}
        assert api.post("/api/projects/validate", body | {"name": name}, headers=headers).status_code == 200
    assert not IdempotencyRecord.objects.exists()


@pytest.mark.parametrize(
    ("verb", "error", "status"),
    [
        ("image_exists", EngineUnavailableError, 503),
        ("deploy.create", EngineUnavailableError, 503),
        ("deploy.create", EngineRefusedError, 502),
        ("deploy.start", EngineRefusedError, 502),
    ],
)
def test_a_first_request_that_failed_frees_the_key(
    create: Callable[..., Any], engine: MemoryEngine, verb: str, error: Any, status: int
) -> None:
    engine.fail(verb, error)
    assert create().status_code == status
    assert not IdempotencyRecord.objects.exists()
    assert create().status_code == 201
    assert len(engine.containers) == 1


def test_a_first_request_over_the_limit_frees_the_key(create: Callable[..., Any]) -> None:
    Plan.objects.filter(slug="pro").update(max_projects=0)
    assert create().json()["code"] == "plan_limit_reached"
    Plan.objects.filter(slug="pro").update(max_projects=1)
    assert create().status_code == 201


def test_a_bot_in_use_frees_the_key(create: Callable[..., Any]) -> None:
    create()
    assert create(key="another").status_code == 409
    assert create(key="another", telegramToken="5:free").status_code == 201


def test_a_key_may_be_used_again_with_another_body_once_it_is_free(
    create: Callable[..., Any], engine: MemoryEngine
) -> None:
    engine.fail("deploy.start", EngineRefusedError)
    assert create().status_code == 502
    assert create(name="Another body").status_code == 201


def test_while_the_first_request_is_under_way_a_retry_is_told_to_wait(
    create: Callable[..., Any], engine: MemoryEngine
) -> None:
    inner: list[Any] = []

    def retry() -> None:
        engine.slow("deploy.create", None)
        inner.append(create())

    engine.slow("deploy.create", retry)
    outer = create()
    assert outer.status_code == 201
    assert_problem(inner[0], 409, "operation_in_progress")
    assert int(inner[0]["Retry-After"]) >= 1
    assert deploys(engine) == 1
    assert create().content == outer.content


def test_another_body_under_a_pending_key_is_a_422(create: Callable[..., Any], engine: MemoryEngine) -> None:
    inner: list[Any] = []

    def retry() -> None:
        engine.slow("deploy.create", None)
        inner.append(create(name="Other"))

    engine.slow("deploy.create", retry)
    create()
    assert_problem(inner[0], 422, "idempotency_mismatch")


def test_a_request_that_died_after_its_deploy_is_answered_with_what_it_made(
    create: Callable[..., Any], engine: MemoryEngine
) -> None:
    first = create()
    IdempotencyRecord.objects.update(answer="")  # it died before it could write its answer
    age(PENDING_FOR - timedelta(seconds=5))
    assert_problem(create(), 409, "operation_in_progress")
    age(PENDING_FOR)
    second = create()
    assert (second.status_code, second.json()["id"]) == (201, first.json()["id"])
    assert (len(engine.containers), deploys(engine)) == (1, 1)
    assert create().content == second.content


def test_a_request_that_died_before_its_deploy_is_made_good(create: Callable[..., Any], engine: MemoryEngine) -> None:
    first = create()
    Project.objects.all().delete()
    engine.reset()
    IdempotencyRecord.objects.update(answer="")
    age(PENDING_FOR)
    second = create()
    assert (second.status_code, second.json()["id"]) == (201, first.json()["id"])
    assert len(engine.containers) == 1


def test_of_those_who_take_over_an_abandoned_key_one_wins(create: Callable[..., Any], engine: MemoryEngine) -> None:
    create()
    Project.objects.all().delete()
    engine.reset()
    IdempotencyRecord.objects.update(answer="")
    age(PENDING_FOR)
    inner: list[Any] = []

    def come_second() -> None:
        engine.slow("deploy.create", None)
        inner.append(create())

    engine.slow("deploy.create", come_second)
    assert create().status_code == 201
    assert_problem(inner[0], 409, "operation_in_progress")
    assert deploys(engine) == 1


def test_a_request_that_is_cut_off_frees_its_key(create: Callable[..., Any], engine: MemoryEngine) -> None:
    def stop_the_worker() -> None:
        raise SystemExit(1)

    engine.slow("image_exists", stop_the_worker)
    with pytest.raises(SystemExit):
        create()
    engine.slow("image_exists", None)
    assert create().status_code == 201


def test_after_24_hours_a_key_is_new(create: Callable[..., Any]) -> None:
    first = create()
    age(KEPT_FOR - timedelta(seconds=5))
    assert create().content == first.content
    age(KEPT_FOR)
    assert create().json()["code"] == "bot_in_use"
    assert create(telegramToken="5:other").json()["id"] != first.json()["id"]


def test_the_answer_outlives_the_project(create: Callable[..., Any], api: APIClient, engine: MemoryEngine) -> None:
    first = create()
    assert api.delete(first["Location"]).status_code == 204
    assert create().content == first.content
    assert not engine.containers


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


@pytest.mark.django_db(transaction=True)
def test_thirty_requests_with_one_key_make_one_project(alice: User, body: dict[str, Any], engine: MemoryEngine) -> None:
    together, refused = threading.Barrier(30), threading.Event()
    engine.slow("deploy.create", lambda: refused.wait(60))  # so that they meet

    def insist(_number: int) -> bytes:
        client = api_of(alice)
        together.wait(timeout=60)

        def created() -> bytes | None:
            answer = client.post("/api/projects", body, headers={"idempotency-key": KEY})
            if answer.status_code == 201:
                content: bytes = answer.content
                return content
            assert_problem(answer, 409, "operation_in_progress")
            refused.set()
            return None

        try:
            return wait_until(created, within=60, what="The first request was never answered", every=0.05)
        finally:
            connection.close()

    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(insist, range(30)))
    assert len(set(answers)) == 1
    assert refused.is_set(), "They did not meet."
    assert (deploys(engine), len(engine.containers)) == (1, 1)
    assert Project.objects.count() == IdempotencyRecord.objects.count() == 1
