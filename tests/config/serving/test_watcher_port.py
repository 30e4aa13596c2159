"""A watcher that runs alone tells at a port of its own whether it is at work, and its metrics; and nobody else more."""

import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from ctypes import c_double
from typing import Any

import pytest

from config.serving import watcher_port
from config.serving.watcher_port import MOST, WatcherPort, open_watcher_port
from tests.config.metrics.reading import Scrape

pytestmark = pytest.mark.one_database

TOKEN = "a-token-of-the-metrics-for-tests"


@pytest.fixture
def due() -> c_double:
    return c_double(time.monotonic() + 600)


@pytest.fixture
def port(due: c_double) -> Iterator[int]:
    with WatcherPort("127.0.0.1", 0, due) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield server.server_port
        server.shutdown()


def ask(port: int, path: str, *, method: str = "GET", **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_it_tells_nobody_which_python_it_is(port: int) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=30) as answer:
        assert answer.headers.get_all("Server") == ["berth"]


def test_its_health_is_that_of_its_threads(port: int, due: c_double) -> None:
    assert ask(port, "/healthz") == (200, '{"status": "ok"}')
    assert ask(port, "/healthz", method="HEAD") == (200, "")
    due.value = time.monotonic() - 1
    assert ask(port, "/healthz") == (503, '{"status": "unavailable"}')


@pytest.mark.django_db(transaction=True)
def test_it_tells_its_metrics_to_whom_the_web_server_would(port: int, settings: Any) -> None:
    status, told = ask(port, "/metrics")
    assert (status, Scrape(told).value("berth_database_up")) == (200, 1)
    assert ask(port, "/metrics", **{"X-Forwarded-For": "203.0.113.5"})[0] == 404
    settings.BERTH_METRICS_TOKEN = TOKEN
    assert ask(port, "/metrics")[0] == 401
    assert ask(port, "/metrics", Authorization=f"Bearer {TOKEN}")[0] == 200


@pytest.mark.parametrize("path", ["/", "/readyz", "/api/projects", "/admin/", "/healthz/", "/metrics/../admin/"])
def test_all_else_is_not_there(port: int, path: str) -> None:
    assert ask(port, path)[0] == 404


def test_a_change_is_refused_and_a_fault_is_told_to_the_log_alone(
    port: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert ask(port, "/metrics", method="POST")[0] == 405
    monkeypatch.setattr(watcher_port.WatcherPort, "_tell_health", lambda *_: 1 / 0)
    with WatcherPort("127.0.0.1", 0, c_double(0.0)) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        assert ask(server.server_port, "/healthz") == (500, "Something broke.\n")
        server.shutdown()
    assert "The watcher could not answer." in caplog.text


def test_who_says_nothing_keeps_few_places_and_not_for_long(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher_port._Handler, "timeout", 0.3)
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(MOST)]
    try:
        for each in silent:
            each.settimeout(30)
            assert each.recv(1) == b""  # it was sent away, or its time is over
        assert ask(port, "/healthz")[0] == 200
    finally:
        for each in silent:
            each.close()


@pytest.mark.parametrize(("role", "chosen"), [("all", 1), ("web", 1), ("watcher", 0)])
def test_it_listens_only_where_it_is_told_to(role: str, chosen: int, settings: Any, due: c_double) -> None:
    settings.BERTH_ROLE, settings.BERTH_WATCHER_PORT = role, chosen
    before = threading.active_count()
    open_watcher_port(due)
    assert threading.active_count() == before


def test_a_port_that_cannot_be_had_ends_no_watcher(
    settings: Any, due: c_double, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        settings.BERTH_ROLE, settings.BERTH_HOST = "watcher", "127.0.0.1"
        settings.BERTH_WATCHER_PORT = other.getsockname()[1]
        open_watcher_port(due)
    assert "it cannot listen on 127.0.0.1" in caplog.text
