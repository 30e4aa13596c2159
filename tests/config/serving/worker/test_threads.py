"""Which threads of the web server wait for what."""

import logging
import sys
import time

import pytest

from config.serving.worker.clients import Clients
from config.serving.worker.threads import SWITCHES_EVERY
from tests.config.serving.looping import Looping, read_all
from tests.config.serving.worker.application import LAST, Site, status_of
from tests.waiting import wait_until


def test_a_computing_thread_lets_others_run_soon(server: Looping) -> None:
    assert server.ask(LAST).endswith(b"/hello")
    assert sys.getswitchinterval() == pytest.approx(SWITCHES_EVERY)


def test_event_streams_keep_no_thread_of_requests(server: Looping, site: Site) -> None:
    streams = [server.connect(b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n") for _ in range(5)]
    for stream in streams:
        received = b""
        while b"data: one" not in received:
            received += stream.recv(65536)
    assert server.ask(LAST).endswith(b"/hello")
    site.hold.set()
    for stream in streams:
        assert b"data: two" in stream.recv(65536)
    assert sum(name.startswith("stream") for name in site.threads) == 5


def test_an_event_stream_whose_client_has_left_ends_with_its_next_event(server: Looping, site: Site) -> None:
    """And not with the one after it, which the kernel would refuse."""
    stream = server.connect(b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
    wait_until(lambda: any(name.startswith("stream") for name in site.threads))
    (connection,) = server.worker.clients.connections
    stream.close()
    wait_until(lambda: connection.sends_no_more)
    site.hold.set()
    server.wait_for_connections(0)
    assert not site.told_more


def test_an_event_stream_that_is_there_as_a_whole_waits_behind_none_that_is_followed(
    server: Looping, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.worker.streams, "take", lambda _act: False)
    ask = b"GET /{} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert status_of(server.ask(ask.replace(b"{}", b"stream"))) == 503
    assert server.ask(ask.replace(b"{}", b"whole%20stream")).endswith(b"data: one\n\n")


def test_long_downloads_keep_no_thread_of_requests_and_break_off_quietly(
    server: Looping, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    downloads = [server.connect(b"GET /download HTTP/1.1\r\nHost: x\r\n\r\n") for _ in range(5)]
    for download in downloads:
        received = b""
        while b"begun" not in received:
            received += download.recv(65536)
    assert server.ask(LAST).endswith(b"/hello")
    site.hold.set()
    assert sum(name.startswith("stream") for name in site.threads) == 5
    assert not any(read_all(download).endswith(b"0\r\n\r\n") for download in downloads), "It looks whole."
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_worker_whose_server_was_killed_ends_its_streams_properly(server: Looping, site: Site) -> None:
    stream = server.connect(b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
    wait_until(lambda: any(name.startswith("stream") for name in site.threads))
    server.worker.ppid = -1
    server.worker.loop.call_next(lambda: None)
    server.worker.loop.wake()
    wait_until(lambda: not server.worker.alive)
    site.hold.set()
    assert read_all(stream).endswith(b"\r\n0\r\n\r\n")


def test_a_stop_waits_for_running_requests_only(server: Looping, site: Site) -> None:
    silent = server.connect()
    held = server.connect(b"GET /held HTTP/1.1\r\nHost: x\r\n\r\n")
    wait_until(lambda: site.threads)
    server.worker.loop.call_soon(site.hold.set)
    server.stop()
    assert read_all(held).endswith(b"/held")
    assert silent.recv(1) == b""


def test_an_error_with_one_connection_does_not_end_the_loop(
    server: Looping, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def break_down(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patched, caplog.at_level(logging.ERROR):
        patched.setattr(Clients, "_advance", break_down)
        server.connect(LAST)
        wait_until(lambda: "continues" in caplog.text)
    assert server.ask(LAST).endswith(b"/hello")


def test_health_checks_wait_for_no_thread_that_others_hold(server: Looping, site: Site) -> None:
    for _ in range(20):
        server.connect(b"GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n")
    wait_until(lambda: len(site.threads) >= 2)
    for path in (b"/healthz", b"/readyz", b"/readyz/server", b"/metrics", b"/healthz?probe=1"):
        for method in (b"GET", b"HEAD"):
            answer = server.ask(method + b" " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert status_of(answer) == 200
    assert {name.partition("_")[0] for name in site.threads[2:]} == {
        "/healthz",
        "/readyz",
        "/readyz/server",
        "/metrics",
    }


def test_a_hanging_readiness_check_delays_no_liveness_check(server: Looping, site: Site) -> None:
    site.held_paths.add("/readyz")
    server.connect(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    wait_until(lambda: len(site.threads) >= 1)
    assert status_of(server.ask(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")) == 200


def test_the_application_gets_the_arrival_time_of_the_request(server: Looping, site: Site) -> None:
    """It may have waited for a thread, which is part of the time that its answer may take."""
    for _ in range(2):
        server.connect(b"GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n")
    wait_until(lambda: len(site.threads) >= 2)
    before = time.monotonic()
    waiting = server.connect(LAST)
    wait_until(lambda: server.worker.threads.waiting == 1)
    after = time.monotonic()
    site.hold.set()
    assert status_of(read_all(waiting)) == 200
    assert before <= site.arrivals[-1] <= after


def test_simultaneous_connections_are_accepted_one_at_a_time(server: Looping) -> None:
    """So that the other process, whose loop has less to do, accepts some of them."""
    taken: list[int] = []

    def look() -> None:
        for _ in range(3):
            server.connect()
        server.worker._accept(server.worker.sockets[0])
        taken.append(server.open_connections)

    server.worker.loop.call_soon(look)
    wait_until(lambda: taken)
    assert taken == [1]
    server.wait_for_connections(3)
