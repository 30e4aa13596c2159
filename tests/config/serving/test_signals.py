"""What `serve` does on signals: it ends at once, or when its requests are answered, or hands over to a new program."""

import http.client
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.config.serving.notified import PATIENT, Notified, core
from tests.config.serving.served import Served, is_alive, serving
from tests.waiting import wait_until

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def served(tmp_path: Path, notified: Notified) -> Iterator[Served]:
    with serving(tmp_path, NOTIFY_SOCKET=notified.path, WATCHDOG_USEC="1500000") as running:
        yield running


BODY = b'{"email": "nobody@example.com", "password": "a wrong one of tests"}'
HEAD = b"POST /api/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
LENGTH = b"Content-Length: %d\r\n\r\n"


class Requests:
    """Requests pages one after the other, each over a connection of its own."""

    def __init__(self, port: int) -> None:
        self.answers: dict[str, int] = {}
        self._port, self._stopped = port, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._stopped.wait(0.02):
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENT)
            try:
                connection.request("GET", "/sign-in")
                answer = connection.getresponse()
                answer.read()
                word = str(answer.status)
            except (OSError, http.client.HTTPException) as error:
                word = repr(error)
            finally:
                connection.close()
            self.answers[word] = self.answers.get(word, 0) + 1

    def __enter__(self) -> "Requests":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def wait_for_more(self) -> None:
        wanted = sum(self.answers.values()) + 5
        wait_until(lambda: sum(self.answers.values()) >= wanted, within=PATIENT, what=lambda: str(self.answers))


def begin_request(served: Served) -> socket.socket:
    """Begins a login of which the server has all but the last byte."""
    connection = socket.create_connection(("127.0.0.1", served.port), timeout=PATIENT)
    connection.sendall(HEAD + LENGTH % len(BODY) + BODY[:-1])
    return connection


@pytest.mark.rare(2)
def test_a_handover_refuses_nobody_and_running_requests_are_finished(served: Served, notified: Notified) -> None:
    served.wait_until_up()
    wait_until(lambda: notified.heard() == ["READY=1"], within=PATIENT, what=served.log.read_text)
    first, family = served.process.pid, core(served)
    for pid in family | {first}:
        os.kill(pid, signal.SIGUSR1)  # none of the processes reacts to it
    for pid in family:
        os.kill(pid, signal.SIGHUP)
    with Requests(served.port) as requests:
        requests.wait_for_more()
        assert core(served) == family
        reloaded = served.command("reload", within=PATIENT)
        assert (reloaded.returncode, reloaded.stderr) == (0, ""), served.log.read_text()
        served.wait_until_gone(family)
        requests.wait_for_more()
    assert set(requests.answers) == {"200"}
    assert served.process.pid == first
    expected = ["READY=1", "RELOADING=1", "READY=1"]
    wait_until(lambda: notified.heard() == expected, within=PATIENT, what=lambda: str(notified.heard()))
    signs = notified.signs_of_life
    wait_until(lambda: notified.signs_of_life > signs, within=PATIENT)

    successors = core(served)
    with begin_request(served) as connection:
        served.process.send_signal(signal.SIGTERM)
        wait_until(lambda: notified.heard()[-1] == "STOPPING=1", within=PATIENT)
        connection.sendall(BODY[-1:])
        assert b" 401 " in connection.recv(100)
    assert served.process.wait(PATIENT) == 0
    served.wait_until_gone(successors)


@pytest.mark.rare(2)
def test_a_second_signal_ends_requests_that_wait_for_a_client(served: Served) -> None:
    served.wait_until_up()
    family = served.family()
    with begin_request(served):
        served.process.send_signal(signal.SIGINT)
        served.wait_for_line("Handling signal: term")
        assert any(map(is_alive, family))
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(PATIENT) == 128 + signal.SIGTERM
    served.wait_until_gone(family)


def test_reload_reports_if_nothing_runs(served: Served) -> None:
    served.process.kill()
    served.process.wait(PATIENT)
    reloaded = served.command("reload", within=PATIENT)
    assert reloaded.returncode == 1
    assert "Berth is not running" in reloaded.stderr
    assert len(reloaded.stderr.splitlines()) == 1
    with socket.socket() as older:  # a server that has left no trace, like those before 0.3.0
        older.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        older.bind(("127.0.0.1", served.port))
        older.listen()
        reloaded = served.command("reload", within=PATIENT)
    assert reloaded.returncode == 1
    assert "cannot hand over" in reloaded.stderr
    assert len(reloaded.stderr.splitlines()) == 1
