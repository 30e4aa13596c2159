"""The limits with BERTH_CACHE_URL. A cache in memory replaces Redis: both add atomically, and forget."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.cache import cache
from pytest_django import Settings

from accounts.models import UsageCounter, User
from accounts.throttling.rate_limits import RateLimiter
from tests.accounts.throttling.rate_limiting import MINUTE, Clock, count_allowed
from tests.clients import Call

DEPLOY = "/api/projects"

pytestmark = pytest.mark.usefixtures("real_limits")


@pytest.fixture(autouse=True)
def _cache(settings: Settings) -> None:
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    settings.BERTH_COUNT_IN_CACHE = True
    cache.clear()


def test_the_limit_holds_and_is_shown(call: Call, clock: Clock, alice: User) -> None:
    answers = [call("POST", DEPLOY, {}, by=alice) for _ in range(22)]

    assert [answer.status_code for answer in answers] == [400] * 20 + [429] * 2
    assert answers[0]["RateLimit"] == '"deploys";r=19;t=50'
    assert answers[-1]["RateLimit"] == '"deploys";r=0;t=50'
    assert not UsageCounter.objects.exists()


def test_the_next_minute_begins_with_the_whole_limit(clock: Clock) -> None:
    process = RateLimiter()
    assert count_allowed("x", 20, times=30, process=process) == 20
    clock.seconds = 60
    assert count_allowed("x", 20, times=30, process=process) == 20


def test_fifty_threads_in_five_processes_get_exactly_the_limit(clock: Clock) -> None:
    processes = [RateLimiter() for _ in range(5)]
    together = threading.Barrier(50)

    def ask(thread: int) -> int:
        together.wait()
        return count_allowed("x", 600, times=60, process=processes[thread % 5])

    with ThreadPoolExecutor(50) as threads:
        assert sum(threads.map(ask, range(50))) == 600


def test_counts_do_not_stay(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    count_allowed("x", 20, times=1)
    key = f"limit:reads:x:{MINUTE // 60}"
    assert cache.get(key) == 1
    later = time.time() + 121
    monkeypatch.setattr("django.core.cache.backends.locmem.time.time", lambda: later)
    assert cache.get(key) is None
