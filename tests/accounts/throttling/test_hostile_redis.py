"""A Redis that answers in every hostile way: requests are then counted in the database, soon without asking Redis."""

import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import caches
from django.db import connection
from redis.exceptions import RedisError

from accounts.throttling.rate_limits import RateLimiter
from config import cache_backend
from tests.certificates import make_authority
from tests.fakes.hostile_redis import NEVER_ENDING, WRONG, HostileRedis, Talk
from tests.waiting import wait_until


def disconnect() -> None:
    cache: Any = caches["default"]
    cache._cache.get_client().connection_pool.disconnect()


Serve = Callable[..., HostileRedis]


@pytest.fixture
def serve(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Starts a Redis in which the service counts."""
    started: list[HostileRedis] = []
    monkeypatch.setattr(cache_backend, "WITHIN", 0.2)
    monkeypatch.setattr(cache_backend, "breaker", cache_backend._Breaker())

    def start(talk: Talk, tls: ssl.SSLContext | None = None, options: str = "") -> HostileRedis:
        server = HostileRedis(talk, tls)
        started.append(server)
        address = f"{'rediss' if tls else 'redis'}://localhost:{server.port}{options}"
        settings.CACHES = {"default": {"BACKEND": "config.cache_backend.DeadlineRedisCache", "LOCATION": address}}
        settings.BERTH_COUNT_IN_CACHE = True
        return server

    yield start
    disconnect()
    for server in started:
        server.close()


def spend(subject: str, limiter: RateLimiter) -> bool:
    return limiter.acquire(subject=subject, scope="commands", limit=5).allowed


@pytest.mark.django_db
@pytest.mark.one_database
@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", NEVER_ENDING)
def test_a_redis_with_an_endless_answer_is_asked_once_and_then_skipped(serve: Serve, name: str) -> None:
    server = serve(NEVER_ENDING[name])
    subject, limiter = uuid4().hex, RateLimiter()
    assert [spend(subject, limiter) for _ in range(8)] == [True] * 5 + [False] * 3
    wait_until(lambda: server.accepted)  # a busy machine may let the client give up before its turn comes
    assert server.accepted == 1


@pytest.mark.django_db
@pytest.mark.one_database
@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", WRONG)
def test_a_redis_that_answers_nonsense_breaks_no_request(serve: Serve, name: str) -> None:
    serve(WRONG[name])
    subject, limiter = uuid4().hex, RateLimiter()
    assert [spend(subject, limiter) for _ in range(8)] == [True] * 5 + [False] * 3


@pytest.mark.django_db
@pytest.mark.one_database
@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", ["silence", "a byte now and then", "an endless line"])
def test_the_limit_holds_over_tls(serve: Serve, tmp_path: Path, name: str) -> None:
    authority = make_authority(tmp_path)
    server = serve(NEVER_ENDING[name], authority.server_context(), f"?ssl_ca_certs={authority.certificate}")
    subject, limiter = uuid4().hex, RateLimiter()
    assert [spend(subject, limiter) for _ in range(8)] == [True] * 5 + [False] * 3
    assert server.accepted == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.one_database
def test_many_at_once_wait_together_and_then_not_at_all(serve: Serve) -> None:
    server = serve(NEVER_ENDING["a byte now and then"])
    limiter = RateLimiter()
    assert spend(uuid4().hex, limiter)

    def ask() -> None:
        """Like a request, it returns its connection to the database, of which there are fewer than threads here."""
        try:
            spend(uuid4().hex, limiter)
        finally:
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert server.accepted == 1


def test_after_a_pause_one_thread_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("config.cache_backend.time.monotonic", lambda: now)
    breaker = cache_backend._Breaker()

    def is_asked() -> bool:
        try:
            breaker.check("one")
        except RedisError:
            return False
        return True

    assert is_asked()
    breaker.note("one", answers=False)
    assert not is_asked()
    breaker.check("another")
    now += cache_backend.PAUSE
    assert [is_asked() for _ in range(3)] == [True, False, False]
    now += cache_backend.PAUSE
    assert [is_asked() for _ in range(3)] == [True, False, False]
    breaker.note("one", answers=True)
    assert [is_asked() for _ in range(3)] == [True] * 3


def test_the_name_lookup_counts_towards_the_time_limit(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = threading.Event()
    serve(NEVER_ENDING["silence"])
    monkeypatch.setattr("containers.outbound.call_limits.socket.getaddrinfo", lambda *_, **__: silent.wait(60))
    try:
        with pytest.raises(RedisError):
            caches["default"].add("key", 1)
    finally:
        silent.set()
    wait_until(lambda: not [each for each in threading.enumerate() if each.name == "look-up"])
