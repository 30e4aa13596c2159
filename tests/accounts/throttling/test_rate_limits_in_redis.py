"""The limits counted in a real Redis, as several machines share them."""

import os
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import caches

from accounts.throttling.rate_limits import RateLimiter
from tests.ports import reserve_port
from tests.waiting import wait_until


def disconnect() -> None:
    """Closes this thread's connections, which Django leaves to the garbage collector."""
    cache: Any = caches["default"]
    cache._cache.get_client().connection_pool.disconnect()


@pytest.fixture
def redis_server(tmp_path: Path, settings: Any) -> Iterator["subprocess.Popen[bytes]"]:
    """A Redis of its own, which the service counts in."""
    port = reserve_port()
    options = {"--port": str(port), "--bind": "127.0.0.1", "--save": "", "--dir": str(tmp_path)}
    command = ["redis-server", *(word for option in options.items() for word in option)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]})
    settings.CACHES = {
        "default": {
            "BACKEND": "config.cache_backend.DeadlineRedisCache",
            "LOCATION": f"redis://127.0.0.1:{port}",
        }
    }
    settings.BERTH_COUNT_IN_CACHE = True
    wait_until(lambda: listens(port), what="Redis does not listen")
    yield process
    disconnect()
    process.terminate()
    process.wait(60)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def spend(subject: str, process: RateLimiter | None = None) -> bool:
    return (process or RateLimiter()).acquire(subject=subject, scope="reads", limit=50).allowed


def test_machines_share_one_count(redis_server: Any) -> None:
    subject = uuid4().hex
    machines = [RateLimiter(), RateLimiter()]
    assert sum(spend(subject, machines[number % 2]) for number in range(80)) == 50


def test_simultaneous_requests_never_exceed_the_limit(redis_server: Any) -> None:
    subject = uuid4().hex

    def ask(_: int) -> bool:
        try:
            return spend(subject)
        finally:
            disconnect()

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(ask, range(160))) == 50


def test_users_do_not_share(redis_server: Any) -> None:
    assert all(spend(uuid4().hex) for _ in range(60))


def test_while_redis_is_down_the_database_counts(
    redis_server: "subprocess.Popen[bytes]", db: None, caplog: pytest.LogCaptureFixture
) -> None:
    redis_server.terminate()
    redis_server.wait(60)
    subject = uuid4().hex
    machine = RateLimiter()
    assert sum(spend(subject, machine) for _ in range(60)) == 50
    assert "Redis does not answer" in caplog.text
