"""What a user may ask of the API in a minute: 600 reads, 60 commands, 20 deploys; and what the headers say of it."""

import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import UsageCounter, User
from accounts.throttling.rate_limits import BATCH, RateLimiter, rate_limiter
from tests.clients import Call
from tests.factories import ApiKeyFactory, plain_key
from tests.settings import REAL_LIMITS

READ, SESSION, LOGOUT = "/api/projects", "/api/auth/session", "/api/auth/logout"
A_PROJECT = f"/api/projects/{uuid.UUID(int=0)}"
MINUTE = 1_800_000_000  # a moment at which one begins


@pytest.fixture(autouse=True)
def _limits(settings: Settings) -> None:
    settings.BERTH_LIMITS = REAL_LIMITS


class Clock:
    """Seconds into a minute."""

    def __init__(self) -> None:
        self.seconds = 10.0

    def __call__(self) -> datetime:
        return datetime.fromtimestamp(MINUTE + self.seconds, UTC)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("django.utils.timezone.now", clock)
    return clock


def _spend(subject: str, limit: int, *, scope: str = "reads", times: int, process: RateLimiter | None = None) -> int:
    """How many of the times were allowed."""
    process = process or RateLimiter()
    return sum(process.acquire(subject=subject, scope=scope, limit=limit).allowed for _ in range(times))


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
def test_so_is_the_one_after_the_last_command_and_the_last_deploy(
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


def test_nor_one_user_another(call: Call, clock: Clock, alice: User, bob: User) -> None:
    for _ in range(21):
        call("POST", READ, {}, by=alice)

    assert call("POST", READ, {}, by=bob).status_code == 400


def test_all_the_tokens_of_a_user_share_a_count(call: Call, clock: Clock, alice: User) -> None:
    keys = [plain_key(key) for key in ApiKeyFactory.create_batch(2, user=alice)]
    for by in (alice, *keys):
        call("GET", READ, by=by)

    assert call("GET", READ, by=alice)["RateLimit"] == '"reads";r=596;t=50'


def test_the_next_minute_begins_with_all_of_it(call: Call, clock: Clock, alice: User) -> None:
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
def test_every_answer_to_a_user_says_where_they_stand(
    call: Call, alice: User, method: str, path: str, body: object, status: int
) -> None:
    answer = call(method, path, body, by=alice)

    assert answer.status_code == status
    assert answer["RateLimit-Policy"]
    assert answer["RateLimit"]


def test_nobody_is_told_nothing_and_counts_for_nothing(call: Call, db: None) -> None:
    answers = [call("GET", READ), call("GET", READ, by="berth_nonsense"), call("GET", SESSION)]

    assert [answer.status_code for answer in answers] == [401, 401, 200]
    assert not any("RateLimit" in answer for answer in answers)
    assert not UsageCounter.objects.exists()


def test_the_session_is_always_told_and_can_always_be_ended(call: Call, clock: Clock, alice: User) -> None:
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


def test_who_is_refused_costs_no_further_queries(db: None, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    process = RateLimiter()
    assert _spend("x", 3, scope="commands", times=4, process=process) == 3
    with django_assert_num_queries(0):
        assert _spend("x", 3, scope="commands", times=100, process=process) == 0


def test_processes_share_one_count_and_lose_no_more_than_a_batch_each(clock: Clock, db: None) -> None:
    processes = [RateLimiter() for _ in range(4)]
    allowed = 0
    for _ in range(3):
        allowed += sum(_spend("x", 600, times=70, process=process) for process in processes)

    assert 600 - len(processes) * BATCH <= allowed <= 600


def test_taking_turns_they_lose_none(clock: Clock, db: None) -> None:
    processes = [RateLimiter() for _ in range(2)]

    assert sum(_spend("x", 600, times=1, process=processes[turn % 2]) for turn in range(620)) == 600


def test_a_clock_that_is_behind_gets_no_minute_of_its_own(clock: Clock, db: None) -> None:
    clock.seconds = 61
    assert _spend("x", 20, scope="deploys", times=15) == 15
    clock.seconds = 59
    assert _spend("x", 20, scope="deploys", times=15) == 5
    clock.seconds = 62
    assert _spend("x", 20, scope="deploys", times=15) == 0


@pytest.mark.parametrize("limit", [1, 19, 20, 21, 99, 100, 101, 119, 599, 600])
def test_any_limit_is_kept_to_the_last(clock: Clock, db: None, limit: int) -> None:
    assert _spend("x", limit, times=limit + 50) == limit


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("scope", "limit"), [("reads", 600), ("commands", 60), ("deploys", 20)])
def test_fifty_threads_in_five_processes_never_get_more(clock: Clock, scope: str, limit: int) -> None:
    processes = [RateLimiter() for _ in range(5)]
    together = threading.Barrier(50)

    def ask(thread: int) -> int:
        together.wait()
        connection.ensure_connection()  # as in a request, which has asked who the user is
        try:
            return _spend("x", limit, scope=scope, times=limit // 10, process=processes[thread % 5])
        finally:
            connection.close()

    with ThreadPoolExecutor(50) as threads:
        allowed = sum(threads.map(ask, range(50)))
    assert limit - (5 * BATCH if scope == "reads" else 0) <= allowed <= limit
    assert UsageCounter.objects.get().spent <= limit


@pytest.mark.django_db(transaction=True)
def test_fifty_requests_at_once_get_twenty_deploys_between_them(clock: Clock, alice: User) -> None:
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


def test_permits_of_an_earlier_minute_are_forgotten(clock: Clock, db: None) -> None:
    process = RateLimiter()
    for subject in "abc":
        _spend(subject, 5, times=1, process=process)
    clock.seconds = 70
    _spend("d", 5, times=1, process=process)

    assert [subject for subject, _ in process._permits] == ["d"]


class TestInTheCache:
    """With BERTH_CACHE_URL. A cache in memory stands for Redis: both add atomically, and forget."""

    @pytest.fixture(autouse=True)
    def _cache(self, settings: Settings) -> None:
        settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
        settings.BERTH_COUNT_IN_CACHE = True
        cache.clear()

    def test_the_limit_is_kept_and_told(self, call: Call, clock: Clock, alice: User) -> None:
        answers = [call("POST", READ, {}, by=alice) for _ in range(22)]

        assert [answer.status_code for answer in answers] == [400] * 20 + [429] * 2
        assert answers[0]["RateLimit"] == '"deploys";r=19;t=50'
        assert answers[-1]["RateLimit"] == '"deploys";r=0;t=50'
        assert not UsageCounter.objects.exists()

    def test_the_next_minute_begins_with_all_of_it(self, clock: Clock) -> None:
        process = RateLimiter()
        assert _spend("x", 20, times=30, process=process) == 20
        clock.seconds = 60
        assert _spend("x", 20, times=30, process=process) == 20

    def test_fifty_threads_in_five_processes_get_all_and_no_more(self, clock: Clock) -> None:
        processes = [RateLimiter() for _ in range(5)]
        together = threading.Barrier(50)

        def ask(thread: int) -> int:
            together.wait()
            return _spend("x", 600, times=60, process=processes[thread % 5])

        with ThreadPoolExecutor(50) as threads:
            assert sum(threads.map(ask, range(50))) == 600

    def test_counts_do_not_stay(self, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        _spend("x", 20, times=1)
        key = f"limit:reads:x:{MINUTE // 60}"
        assert cache.get(key) == 1
        later = time.time() + 121
        monkeypatch.setattr("django.core.cache.backends.locmem.time.time", lambda: later)
        assert cache.get(key) is None
