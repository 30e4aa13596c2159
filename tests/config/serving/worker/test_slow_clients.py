"""Slow clients of the web server slow down only themselves."""

import socket
import threading

import pytest

from config.serving.worker import clients as clients_module
from config.serving.worker import connections, pending_writes
from tests.config.serving.looping import Looping, read_all
from tests.config.serving.worker.application import LARGE, LAST, Site
from tests.waiting import wait_until


def test_too_many_connections_cost_the_oldest(server: Looping, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients_module, "CONNECTIONS", 10)
    clients = []
    for number in range(30):
        clients.append(server.connect(b"GET /"))
        server.wait_for_connections(min(number + 1, 10))
    assert server.ask(LAST).endswith(b"/hello")
    assert all(client.recv(1) == b"" for client in clients[:20])
    clients[-1].sendall(b"last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert read_all(clients[-1]).endswith(b"/last")


def test_a_connection_that_is_being_answered_is_never_sacrificed(
    server: Looping, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients_module, "CONNECTIONS", 1)
    held = server.connect(b"GET /held HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    wait_until(lambda: site.threads)
    assert server.ask(b"") == b""  # only the newcomer can be closed
    site.hold.set()
    assert read_all(held).endswith(b"/held")


def test_clients_that_do_not_read_hold_no_thread_and_little_memory(
    server: Looping, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending_writes, "UNSENT_LIMIT", 2 * len(LARGE))
    for _ in range(12):
        server.connect(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n", receive_buffer=4096)
    assert server.ask(LAST).endswith(b"/hello")
    wait_until(lambda: sum(each.unsent for each in tuple(server.worker.clients.connections)) <= 2 * len(LARGE))


def test_a_slow_reader_gets_everything(server: Looping) -> None:
    client = server.connect(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", receive_buffer=4096)
    wait_until(lambda: any(each.unsent for each in tuple(server.worker.clients.connections)))
    assert read_all(client).endswith(LARGE)


def test_a_client_that_reads_nothing_for_too_long_is_disconnected(hasty: Looping, site: Site) -> None:
    hasty.connect(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n", receive_buffer=4096)
    wait_until(lambda: site.threads)
    hasty.wait_for_connections(0)


def test_a_client_that_reads_occasionally_holds_no_thread_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "UNSENT_LIMIT", 1)
    monkeypatch.setattr(connections, "ROOM_WITHIN", 0.05)
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    connection = connections.Connection(ours, None, None, on_unsent=lambda _: None)
    is_over = threading.Event()

    def take_a_little() -> None:
        while not is_over.wait(0.01):
            theirs.recv(4096)
            connection.flush()

    with ours, theirs:
        connection.sendall(LARGE)
        taking = threading.Thread(target=take_a_little)
        taking.start()
        try:
            with pytest.raises(TimeoutError):
                connection.sendall(b"more")
        finally:
            is_over.set()
            taking.join()
