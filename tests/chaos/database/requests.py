"""One of each kind of request, sent to a server during a fault, and what must be true of every answer."""

import http.client
import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tests.canaries import CANARY_PASSWORD
from tests.chaos.stub import STUB_PROJECT
from tests.people import email_of

HANG_GUARD = 90.0
FORESEEN = {200, 201, 202, 204, 302, 404, 409, 429, 503}
"""409: an operation whose outcome could not be recorded. 429: streams whose leases could not be returned."""

TARGETS = ("start", "stop", "patch", "delete", "detail", "follow")
"""Requests that need a project of their own."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """`status` is 0 if there was no answer."""

    status: int
    seconds: float
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass(frozen=True, kw_only=True)
class Client:
    port: int
    key: str
    cookies: Mapping[str, str]

    def send(self, method: str, path: str, body: Any = None, *, cookie: str = "", **headers: str) -> Answer:
        named = {"Cookie": self.cookies[cookie]} if cookie else {"Authorization": f"Bearer {self.key}"}
        data = None if body is None else json.dumps(body)
        if data is not None:
            named["Content-Type"] = "application/json"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_GUARD)
        began = time.monotonic()
        try:
            connection.request(method, path, data, named | headers)
            answer = connection.getresponse()
            # A stream continues, so its beginning is enough.
            is_stream = answer.headers.get_content_type() == "text/event-stream"
            text = (answer.readline() if is_stream else answer.read()).decode()
            status, kept = answer.status, {name.lower(): value for name, value in answer.getheaders()}
        except (OSError, http.client.HTTPException) as error:
            status, kept, text = 0, {}, repr(error)
        finally:
            connection.close()
        return Answer(status=status, seconds=time.monotonic() - began, headers=kept, text=text)

    def create(self, name: str) -> Answer:
        return self.send("POST", "/api/projects", STUB_PROJECT | {"name": name})

    def make_targets(self) -> dict[str, str]:
        """Returns the ids of the projects that the requests use. The one to be started does not run."""
        made = {}
        for name in TARGETS:
            answer = self.create(name)
            assert answer.status == 201, answer
            made[name] = answer.json["id"]
        stopped = self.control(made["start"], "stop")
        assert stopped.status == 200, stopped
        return made

    def control(self, project: str, action: str) -> Answer:
        return self.send("POST", f"/api/projects/{project}/control", {"action": action})

    def start_and_delete_all(self) -> list[str]:
        """Returns the projects that could not be started or deleted."""
        wrong = []
        for project in self.send("GET", "/api/projects").json:
            started = self.control(project["id"], "start")
            if started.status != 200:
                wrong.append(f"start afterwards: {started.status} {started.text}")
            if (gone := self.send("DELETE", f"/api/projects/{project['id']}")).status != 204:
                wrong.append(f"delete afterwards: {gone.status} {gone.text}")
        return wrong

    def send_all(self, targets: Mapping[str, str]) -> dict[str, Answer]:
        """Sends one of each, all at once."""
        path = {name: f"/api/projects/{project}" for name, project in targets.items()}
        login = {"email": email_of("alice"), "password": CANARY_PASSWORD}
        calls: dict[str, Any] = {
            "healthz": lambda: self.send("GET", "/healthz"),
            "readyz": lambda: self.send("GET", "/readyz"),
            "list": lambda: self.send("GET", "/api/projects"),
            "detail": lambda: self.send("GET", path["detail"]),
            "create": lambda: self.create("create"),
            "start": lambda: self.control(targets["start"], "start"),
            "stop": lambda: self.control(targets["stop"], "stop"),
            "patch": lambda: self.send("PATCH", path["patch"], {"name": "Renamed"}),
            "delete": lambda: self.send("DELETE", path["delete"]),
            "login": lambda: self.send("POST", "/api/auth/login", login),
            "session": lambda: self.send("GET", "/api/auth/session"),
            "plans": lambda: self.send("GET", "/api/plans"),
            "events": lambda: self.send("GET", f"{path['detail']}/events"),
            "follow": lambda: self.send("GET", f"{path['follow']}/logs?follow=true"),
            "page": lambda: self.send("GET", "/", cookie="alice"),
            "project page": lambda: self.send("GET", f"/projects/{targets['detail']}", cookie="alice"),
            "sign-in page": lambda: self.send("GET", "/sign-in"),
            "admin": lambda: self.send("GET", "/admin/projects/project/", cookie="ada"),
            "nothing": lambda: self.send("GET", "/nothing", cookie="alice"),
            "schema": lambda: self.send("GET", "/api/schema"),
        }
        with ThreadPoolExecutor(len(calls)) as pool:
            sent = {name: pool.submit(call) for name, call in calls.items()}
            return {name: answer.result() for name, answer in sent.items()}


def find_faults(name: str, answer: Answer, *, within: float) -> list[str]:
    """Returns what is wrong with an answer that was given while the database was broken.

    `within` is in seconds. /healthz, which depends on nothing, has a tenth of it.
    """
    wrong = []
    if answer.status not in FORESEEN:
        wrong.append(f"{name}: status {answer.status}")
    if answer.seconds > (within / 10 if name == "healthz" else within):
        wrong.append(f"{name}: {answer.seconds:.1f} s")
    if name == "healthz" and answer.status != 200:
        wrong.append(f"{name}: status {answer.status}")
    # The schema lists the causes of every 503.
    if name != "schema" and any(f"engine {words} answer" in answer.text for words in ("does not", "did not")):
        wrong.append(f"{name}: blames the engine")
    if answer.status == 503:
        wrong += [f"{name}: {each}" for each in _find_faults_of_503(name, answer)]
    return wrong


def _find_faults_of_503(name: str, answer: Answer) -> list[str]:
    if name == "readyz":
        return [] if answer.json["database"] != "ok" and answer.json["engine"] == "ok" else [answer.text]
    wrong = [] if answer.headers.get("retry-after", "").isdecimal() else ["no Retry-After"]
    if answer.headers.get("content-type") == "application/problem+json":
        return wrong + ([] if answer.json["code"] == "database_unavailable" else [answer.text])
    return wrong + ([] if "database" in answer.text else [answer.text])
