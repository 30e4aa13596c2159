"""A user's API requests per minute: 600 reads, 60 commands, 20 deploys; and what the headers say about them."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accounts.models import UsageCounter, User
from accounts.throttling.rate_limits import BATCH, rate_limiter
from tests.accounts.throttling.rate_limiting import Clock
from tests.clients import Call
from tests.factories import ApiKeyFactory, plain_key

READ, SESSION, LOGOUT = "/api/projects", "/api/auth/session", "/api/auth/logout"
A_PROJECT = f"/api/projects/{uuid.UUID(int=0)}"

pytestmark = pytest.mark.usefixtures("real_limits")


@pytest.mark.either_database
def test_the_601st_read_of_a_minute_is_refused(client: Client, clock: Clock, alice: User) -> None:
    headers = {"Authorization": f"Bearer {plain_key(ApiKeyFactory.create(user=alice))}"}
    for number in range(1, 601):
        answer = client.get(READ, headers=headers)
        assert (answer.status_code, answer["RateLimit"]) == (200, f'"reads";r={600 - number};t=50')

    refused = client.get(READ, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (429, "throttled")
    assert refused["Content-Type"] == "application/problem+json"
    assert refused["Retry-After"] == "50"
    assert refused["RateLimit"] == '"reads";r=0;t=50'
    assert refused["RateLimit-Policy"] == '"reads";q=600;w=60'


@pytest.mark.either_database
@pytest.mark.parametrize(
    ("method", "path", "scope", "limit"),
    [
        ("POST", READ, "deploys", 20),
        ("POST", "/api/projects/validate", "deploys", 20),
        ("POST", f"{A_PROJECT}/control", "commands", 60),
        ("PATCH", A_PROJECT, "commands", 60),
        ("DELETE", A_PROJECT, "commands", 60),
        ("POST", "/api/auth/keys", "commands", 60),
    ],
)
def test_the_requests_after_the_last_command_and_deploy_are_refused(
    call: Call, clock: Clock, alice: User, method: str, path: str, scope: str, limit: int
) -> None:
    answers = [call(method, path, {}, by=alice) for _ in range(limit + 2)]

    assert 429 not in {answer.status_code for answer in answers[:limit]}
    assert [answer.status_code for answer in answers[limit:]] == [429, 429]
    assert {answer["RateLimit-Policy"] for answer in answers} == {f'"{scope}";q={limit};w=60'}
    left = [answer["RateLimit"] for answer in answers]
    assert left == [f'"{scope}";r={max(0, limit - number)};t=50' for number in range(1, limit + 3)]


def test_a_deploy_and_its_validation_share_a_count(call: Call, clock: Clock, alice: User) -> None:
    for _ in range(10):
        call("POST", READ, {}, by=alice)
        call("POST", "/api/projects/validate", {}, by=alice)

    assert call("POST", READ, {}, by=alice).status_code == 429


def test_one_scope_does_not_use_up_another(call: Call, clock: Clock, alice: User) -> None:
    for _ in range(21):
        call("POST", READ, {}, by=alice)

    assert call("GET", READ, by=alice)["RateLimit"] == '"reads";r=599;t=50'
    assert call("DELETE", A_PROJECT, by=alice)["RateLimit"] == '"commands";r=59;t=50'


def test_one_user_does_not_use_up_another_s_limit(call: Call, clock: Clock, alice: User, bob: User) -> None:
    for _ in range(21):
        call("POST", READ, {}, by=alice)

    assert call("POST", READ, {}, by=bob).status_code == 400


def test_all_the_tokens_of_a_user_share_a_count(call: Call, clock: Clock, alice: User) -> None:
    keys = [plain_key(key) for key in ApiKeyFactory.create_batch(2, user=alice)]
    for by in (alice, *keys):
        call("GET", READ, by=by)

    assert call("GET", READ, by=alice)["RateLimit"] == '"reads";r=596;t=50'


def test_the_next_minute_begins_with_the_whole_limit(call: Call, clock: Clock, alice: User) -> None:
    for _ in range(21):
        call("POST", READ, {}, by=alice)
    clock.seconds = 59.5
    last = call("POST", READ, {}, by=alice)
    clock.seconds = 60
    first = call("POST", READ, {}, by=alice)

    assert (last.status_code, last["Retry-After"]) == (429, "1")
    assert (first.status_code, first["RateLimit"]) == (400, '"deploys";r=19;t=60')


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", READ, None, 200),
        ("HEAD", READ, None, 200),
        ("OPTIONS", READ, None, 200),
        ("GET", "/api/plans", None, 200),
        ("POST", "/api/auth/keys", {"name": "x", "scope": "read"}, 201),
        ("POST", READ, {}, 400),
        ("GET", A_PROJECT, None, 404),
        ("PUT", A_PROJECT, {}, 405),
        ("POST", READ, "{", 400),
    ],
)
def test_every_answer_to_a_user_has_the_limit_headers(
    call: Call, alice: User, method: str, path: str, body: object, status: int
) -> None:
    answer = call(method, path, body, by=alice)

    assert answer.status_code == status
    assert answer["RateLimit-Policy"]
    assert answer["RateLimit"]


def test_visitors_get_no_limit_headers_and_are_not_counted(call: Call, db: None) -> None:
    answers = [call("GET", READ), call("GET", READ, by="berth_nonsense"), call("GET", SESSION)]

    assert [answer.status_code for answer in answers] == [401, 401, 200]
    assert not any("RateLimit" in answer for answer in answers)
    assert not UsageCounter.objects.exists()


def test_the_session_can_always_be_read_and_ended(call: Call, clock: Clock, alice: User) -> None:
    for _ in range(61):
        call("DELETE", A_PROJECT, by=alice)
    rate_limiter.acquire(subject=alice.pk.hex, scope="reads", limit=0)

    assert call("GET", READ, by=alice).status_code == 429
    assert call("GET", SESSION, by=alice).status_code == 200
    assert call("POST", LOGOUT, by=alice).status_code == 204


def test_most_reads_are_counted_without_the_database(
    call: Call, clock: Clock, alice: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    key = plain_key(ApiKeyFactory.create(user=alice))
    call("GET", "/api/plans", by=key)

    with django_assert_num_queries(BATCH - 1) as asked:
        for _ in range(BATCH - 1):
            assert call("OPTIONS", "/api/plans", by=key).status_code == 200
    assert not [query["sql"] for query in asked.captured_queries if "usagecounter" in query["sql"]]


@pytest.mark.django_db(transaction=True)
def test_fifty_simultaneous_requests_get_twenty_deploys(clock: Clock, alice: User) -> None:
    key = plain_key(ApiKeyFactory.create(user=alice))
    together = threading.Barrier(50)

    def deploy(_: int) -> int:
        together.wait()
        try:
            headers = {"Authorization": f"Bearer {key}"}
            return Client().post(READ, {}, content_type="application/json", headers=headers).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(50) as threads:
        statuses = list(threads.map(deploy, range(50)))
    assert (statuses.count(400), statuses.count(429)) == (20, 30)
