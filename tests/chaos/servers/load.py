"""Clients in front of the proxy that read and send commands, and keep account of every answer."""

import http.client
import json
import random
import ssl
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.replies import Reply
from tests.chaos.servers.machines import HOST
from tests.chaos.stub import STUB_PROJECT
from tests.waiting import wait_until

WITHIN = 60.0
"""Seconds for an answer: only its silence shows that a machine stands still."""

GIVES_UP_AFTER = 120.0
AGAIN = {0, 409, 429, 502, 503, 504}
"""Statuses after which a client repeats its request with the same key."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A read that was not answered with 200, from when until when, on the monotonic clock."""

    began: float
    ended: float
    status: int


@dataclass
class Load:
    port: int
    key: str
    failures: list[Failure] = field(default_factory=list)
    reads: int = 0
    slowest: float = 0.0
    made: dict[str, set[str]] = field(default_factory=dict)
    """The ids in the answers for each key of a creation."""
    restarts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The number of restarts sent to each project, and how many were answered with 200."""
    strange: list[Any] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def begin(self, *, readers: int = 2, commanders: int = 2, pause: float = 0.05) -> None:
        acts = [self._read] * readers + [self._command] * commanders
        self._threads = [threading.Thread(target=self._go_on, args=(act, pause)) for act in acts]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(2 * GIVES_UP_AFTER)
            assert not thread.is_alive()

    def wait_for_more(self, *, reads: int, made: int) -> None:
        """Waits for more reads and more created projects than these."""
        wait_until(
            lambda: self.reads > reads and len(self.made) > made, within=GIVES_UP_AFTER, what=lambda: str(self)[:4000]
        )

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=WITHIN, context=context)
        named = {"Host": HOST, "Content-Type": "application/json", "Authorization": f"Bearer {self.key}"}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), named)
            answer = connection.getresponse()
            text = answer.read()
            is_json = "json" in answer.headers.get("Content-Type", "")
            return Reply(answer.status, json.loads(text) if is_json else None)
        except (OSError, http.client.HTTPException):
            return Reply(0)
        finally:
            connection.close()

    def _go_on(self, act: Any, pause: float) -> None:
        chance = random.Random(threading.get_ident())
        while not self._over.is_set():
            act()
            self._over.wait(pause * chance.uniform(0.5, 1.5))

    def _read(self) -> None:
        began = time.monotonic()
        status = self.call("GET", "/api/projects").status
        ended = time.monotonic()
        self.reads += 1
        self.slowest = max(self.slowest, ended - began)
        if status != 200:
            self.failures.append(Failure(began, ended, status))

    def _command(self) -> None:
        """Creates a project, restarts it and stops it."""
        key = uuid.uuid4().hex
        made = self._insist("POST", "/api/projects", STUB_PROJECT | {"name": key}, Idempotency_Key=key)
        if made.status != 201:
            self.strange.append(("create", made))
            return
        project = str(made.json["id"])
        self.made.setdefault(key, set()).add(project)
        again = self._insist("POST", "/api/projects", STUB_PROJECT | {"name": key}, Idempotency_Key=key)
        if again.status == 201:
            self.made[key].add(str(again.json["id"]))
        status = self.call("POST", f"/api/projects/{project}/control", {"action": "restart"}).status
        self.restarts[project] = (1, int(status == 200))
        stopped = self._insist("POST", f"/api/projects/{project}/control", {"action": "stop"})
        if stopped.status not in {200, 202}:
            self.strange.append(("stop", stopped))

    def _insist(self, method: str, path: str, body: Any, **headers: str) -> Reply:
        until = time.monotonic() + GIVES_UP_AFTER
        while (answer := self.call(method, path, body, **headers)).status in AGAIN and time.monotonic() < until:
            time.sleep(0.2)
        return answer
