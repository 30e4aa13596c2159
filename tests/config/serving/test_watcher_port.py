"""A watcher that runs alone reports its health and its metrics at a port of its own, and nothing more to strangers."""

import io
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from ctypes import c_double
from typing import Any

import pytest
from django.test import RequestFactory

from accounts import http
from config.serving import watcher_port
from config.serving.watcher_port import MOST, WatcherPort, open_watcher_port
from tests.config.metrics.reading import Scrape
from tests.waiting import wait_until

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


def test_the_port_does_not_reveal_its_python_version(port: int) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=30) as answer:
        assert answer.headers.get_all("Server") == ["berth"]
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 101 + b"\r\n")
        told = client.makefile("rb").read()
    assert b" 431 " in told
    assert b"Server: berth\r\n" in told
    assert b"python" not in told.lower()


def test_the_health_check_covers_the_watcher_s_threads(port: int, due: c_double) -> None:
    assert ask(port, "/healthz") == (200, '{"status": "ok"}')
    assert ask(port, "/healthz", method="HEAD") == (200, "")
    due.value = time.monotonic() - 1
    assert ask(port, "/healthz") == (503, '{"status": "unavailable"}')


@pytest.mark.django_db(transaction=True)
def test_metrics_have_the_same_access_rules_as_on_the_web_server(port: int, settings: Any) -> None:
    status, told = ask(port, "/metrics")
    assert (status, Scrape(told).value("berth_database_up")) == (200, 1)
    assert ask(port, "/metrics", **{"X-Forwarded-For": "203.0.113.5"})[0] == 404
    settings.BERTH_METRICS_TOKEN = TOKEN
    assert ask(port, "/metrics")[0] == 401
    assert ask(port, "/metrics", Authorization=f"Bearer {TOKEN}")[0] == 200


@pytest.mark.parametrize(
    "headers",
    [{name: "127.0.0.1"} for name in ("X-Forwarded-For", "X_Forwarded_For", "X-Real-IP", "Forwarded", "Via")]
    + [{"Host": host} for host in ("rebound.example", "rebound.example:8001", "127.0.0.1.example", "203.0.113.5", "")],
)
def test_no_header_makes_a_client_local(headers: dict[str, str], port: int, settings: Any) -> None:
    settings.BERTH_TRUSTED_PROXIES = 1
    assert ask(port, "/metrics", **headers) == (404, "Not found.\n")


@pytest.mark.parametrize("forwarded", [None, "127.0.0.1", "203.0.113.9, 127.0.0.1"])
def test_another_machine_gets_no_answer(forwarded: str | None, settings: Any) -> None:
    """This test has no other machine, so the client's address is faked."""
    settings.BERTH_TRUSTED_PROXIES = 1
    environ = {"REMOTE_ADDR": "203.0.113.5", "HTTP_HOST": "127.0.0.1", "PATH_INFO": "/metrics", "REQUEST_METHOD": "GET"}
    environ |= {"HTTP_X_FORWARDED_FOR": forwarded} if forwarded else {}
    with WatcherPort("127.0.0.1", 0, c_double(0.0)) as server:
        told = server._answer({**environ, "wsgi.input": io.BytesIO()}, lambda *_: None)
    assert told == [b"Not found.\n"]


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8001", "127.0.0.1", "127.0.0.1:8001", "[::1]:8001"])
@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_this_machine_is_known_by_its_own_names(host: str, address: str, rf: RequestFactory, settings: Any) -> None:
    settings.BERTH_TRUSTED_PROXIES = 1
    assert http.is_asked_here(rf.get("/metrics", HTTP_HOST=host, REMOTE_ADDR=address))


@pytest.mark.parametrize("path", ["/", "/readyz", "/api/projects", "/admin/", "/healthz/", "/metrics/../admin/"])
def test_all_else_is_not_there(port: int, path: str) -> None:
    assert ask(port, path)[0] == 404


def test_writes_are_refused_and_faults_are_only_logged(
    port: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert ask(port, "/metrics", method="POST")[0] == 405
    monkeypatch.setattr(watcher_port.WatcherPort, "_report_health", lambda *_: 1 / 0)
    with WatcherPort("127.0.0.1", 0, c_double(0.0)) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        assert ask(server.server_port, "/healthz") == (500, "Something broke.\n")
        server.shutdown()
    assert "The watcher could not answer." in caplog.text


def test_silent_clients_occupy_few_connections_for_a_short_time(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher_port._Handler, "timeout", 0.3)
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(MOST)]
    try:
        for each in silent:
            each.settimeout(30)
            assert each.recv(1) == b""  # it was disconnected, or its time is over
        assert ask(port, "/healthz")[0] == 200
    finally:
        for each in silent:
            each.close()


def test_a_dripping_client_is_not_waited_for(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher_port, "WHOLE", 0.2, raising=False)
    with socket.create_connection(("127.0.0.1", port), timeout=0.02) as client:

        def is_sent_away() -> bool:
            try:
                client.sendall(b"G")
                return client.recv(1) == b""
            except TimeoutError:
                return False
            except OSError:
                return True

        wait_until(is_sent_away, within=10, what="The connection was kept")


def test_other_clients_take_no_connection_reserved_for_this_machine(due: c_double) -> None:
    pairs = [socket.socketpair() for _ in range(MOST + 1)]
    with WatcherPort("127.0.0.1", 0, due) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        for _, ours in pairs:
            server.process_request(ours, ("203.0.113.5", 1))
        pairs[-1][0].settimeout(10)
        assert pairs[-1][0].recv(1) == b""
        assert ask(server.server_port, "/healthz")[0] == 200
        server.shutdown()
    for theirs, _ in pairs:
        theirs.close()


@pytest.mark.parametrize(("role", "chosen"), [("all", 1), ("web", 1), ("watcher", 0)])
def test_the_watcher_listens_only_at_its_configured_address(
    role: str, chosen: int, settings: Any, due: c_double
) -> None:
    settings.BERTH_ROLE, settings.BERTH_WATCHER_PORT = role, chosen
    before = threading.active_count()
    open_watcher_port(due)
    assert threading.active_count() == before


def test_a_second_watcher_waits_until_the_first_has_ended(
    settings: Any, due: c_double, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[WatcherPort] = []

    def make(*arguments: Any) -> WatcherPort:
        made.append(WatcherPort(*arguments))
        return made[-1]

    monkeypatch.setattr(watcher_port, "WatcherPort", make)
    monkeypatch.setattr(watcher_port, "AGAIN", 0.02, raising=False)
    caplog.set_level("INFO", "berth.serve")
    with WatcherPort("127.0.0.1", 0, due) as former:
        settings.BERTH_ROLE, settings.BERTH_HOST = "watcher", "127.0.0.1"
        settings.BERTH_WATCHER_PORT = former.server_port
        open_watcher_port(due)
        wait_until(lambda: "it cannot listen on 127.0.0.1" in caplog.text, within=10, what="It was not said")
        assert not made
    wait_until(lambda: bool(made), within=30, what="The port was not taken")
    assert ask(settings.BERTH_WATCHER_PORT, "/healthz")[0] == 200
    made[0].shutdown()
    made[0].server_close()
    assert [each.levelname for each in caplog.records if each.name == "berth.serve"] == ["WARNING", "INFO"]
