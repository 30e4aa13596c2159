"""A `manage.py serve` with an engine in memory, and four requests that are under way in it."""

import http.client
import os
import signal
import socket
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tests.chaos.database.requests import Client
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.matrix.whole_service import WholeService
from tests.chaos.server import HANG_GUARD, Site
from tests.chaos.stub import STUB_PROJECT
from tests.config.serving.served import children_of, is_alive
from tests.waiting import wait_until

PATIENCE = 120.0
ENDING = "Handling signal: term"
"""The web server's log line when `serve` has told it to end."""


class Whole(WholeService):
    """A service with one worker, so that all requests are in it. The watcher's engine is another one."""

    def __init__(self, home: Path) -> None:
        engine = SimpleNamespace(name="signalled", image="berth/assistant:latest")
        site = Site(home, cast("DockerInstance", engine))
        site.environment |= {
            "DJANGO_SETTINGS_MODULE": "tests.chaos.signals.settings",
            "BERTH_WORKERS": "1",
            "PYTHONUNBUFFERED": "1",
        }
        super().__init__(site, {})

    def pids(self, process: str) -> set[int]:
        return {self._web} if process == "web server" else super().pids(process)

    @property
    def _web(self) -> int:
        lines = [line for line in self.log.read_text().splitlines() if "Started the web server, process " in line]
        return int(lines[-1].rpartition("process ")[2].rstrip("."))

    def times_said(self, words: str) -> int:
        return self.log.read_text().count(words)

    def family(self) -> set[int]:
        """Returns the processes that exist as long as nothing happens."""
        found = {pid for name in ("serve", "web server", "web worker", "watcher") for pid in self.pids(name)}
        assert len(found) == 4, self.log.read_text()
        return found

    def wait_until_whole(self) -> None:
        self.wait_until_ready()
        wait_until(lambda: len(children_of(self._web)) == 1, within=PATIENCE, what=self.log.read_text)
        wait_until(lambda: is_alive(*self.pids("watcher")), within=PATIENCE, what=self.log.read_text)

    def wait_for_end(self, family: set[int]) -> int:
        assert self._process is not None
        code = self._process.wait(PATIENCE)
        wait_until(lambda: not any(map(is_alive, family)), within=PATIENCE, what=f"Some of {family} live on")
        return code


class UnderWay:
    """A create and a stop that wait for the engine, a followed log, and a connection that may send another request."""

    def __init__(self, service: Whole) -> None:
        self._home = service.site.folder
        self._client = Client(port=service.port, key=service.site.key, cookies={})
        self._clear()
        followed, stopped = (self._create(name).json["id"] for name in ("Followed", "Stopped"))
        (self._home / "wait").touch()
        self.statuses: dict[str, int] = {}
        body = {"action": "stop"}
        self._threads = [
            self._start("create", "POST", "/api/projects", STUB_PROJECT),
            self._start("stop", "POST", f"/api/projects/{stopped}/control", body),
        ]
        self.idle = self._connect("GET", "/healthz")
        self.idle.getresponse().read()
        self._idle_socket: socket.socket = self.idle.sock
        self._following = self._connect("GET", f"/api/projects/{followed}/logs?follow=true")
        self.stream = self._following.getresponse()
        assert self.stream.status == 200
        self.stream.readline()
        wait_until(lambda: all((self._home / verb).exists() for verb in ("deploy", "stop")), within=HANG_GUARD)

    def _clear(self) -> None:
        for name in ("wait", "deploy", "stop"):
            (self._home / name).unlink(missing_ok=True)

    def _create(self, name: str) -> Any:
        answer = self._client.send("POST", "/api/projects", STUB_PROJECT | {"name": name})
        assert answer.status == 201, answer
        return answer

    def _start(self, name: str, *request: Any) -> threading.Thread:
        def send() -> None:
            self.statuses[name] = self._client.send(*request).status

        thread = threading.Thread(target=send)
        thread.start()
        return thread

    def _connect(self, method: str, path: str) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self._client.port, timeout=PATIENCE)
        connection.request(method, path, headers={"Authorization": f"Bearer {self._client.key}"})
        return connection

    def let_go(self) -> dict[str, int]:
        """Unblocks the engine. Returns the answers of the two commands."""
        self._clear()
        for thread in self._threads:
            thread.join()
        return self.statuses

    def read_stream(self) -> str:
        """Reads until the log's stream ends. Returns `orderly`, or how it broke."""
        try:
            self.stream.read()
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__
        return "orderly"

    def read_idle(self) -> str:
        """Returns how the unused connection ends."""
        try:
            return "orderly" if self._idle_socket.recv(1) == b"" else "an answer to nothing"
        except OSError as error:
            return type(error).__name__

    def still_serves(self) -> bool:
        """Whether the stream continues, and others are answered."""
        return self._client.send("GET", "/healthz").status == 200 and bool(self.stream.readline())

    def close(self) -> None:
        self._clear()
        self.stream.close()
        self._following.close()
        self.idle.close()


def send(service: Whole, process: str, numbers: tuple[signal.Signals, ...]) -> None:
    """Sends each signal once the one before it has taken effect: two pending ones of a kind would be one."""
    first, *others = numbers
    heard = service.times_said(ENDING)
    for pid in service.pids(process):
        os.kill(pid, first)
        for number in others:
            if process == "serve":
                wait_until(lambda: service.times_said(ENDING) > heard, within=PATIENCE, what=service.log.read_text)
            os.kill(pid, number)
