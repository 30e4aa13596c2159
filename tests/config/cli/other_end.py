"""An installation that answers as a test says: like Berth, or like something in front of it."""

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from tests.fakes.http_server import FakeServer
from tests.fakes.messages import Answer, Request

PROJECT_ID = str(UUID(int=7))
PROJECT: dict[str, Any] = {
    "id": PROJECT_ID,
    "name": "Harbour pilot",
    "status": "running",
    "plan": "free",
    "type": "assistant",
    "created_at": "2026-01-01T00:00:00.250000Z",
    "started_at": "2026-01-01T00:00:01Z",
    "bot": {"id": 5, "username": "pilot_bot", "url": "https://t.me/pilot_bot?start=x", "paired": 0},
    "status_reason": None,
    "image": {"update_available": False, "updating": False, "pinned": False},
}

HUNG_UP = Answer(0, b"")
"""The connection ends without an answer."""

Respond = Callable[[Request], Answer | None]


class OtherEnd(FakeServer):
    """`respond` may answer first; if it returns None, the answer is a good one."""

    def __init__(self, respond: Respond | None = None) -> None:
        super().__init__()
        self.respond = respond
        self.seen: list[Request] = []

    def answer(self, request: Request) -> Answer | None:
        self.seen.append(request)
        found = self.respond(request) if self.respond else None
        return None if found is HUNG_UP else found or answer_well(request)


def answer_well(request: Request) -> Answer:
    method, path = request.method, request.path
    answers: dict[tuple[str, str], tuple[int, object]] = {
        ("GET", "/api/projects"): (200, [PROJECT]),
        ("POST", "/api/projects"): (201, PROJECT),
        ("GET", "/api/me"): (200, {"email": "alice@example.com", "token": {"name": "berth", "scope": "write"}}),
        ("POST", "/api/auth/login"): (200, {"token": "a.b.c", "user": {"email": "alice@example.com"}}),
        ("POST", "/api/auth/keys"): (201, {"id": PROJECT_ID, "key": "berth_new"}),
        ("GET", "/api/auth/keys"): (200, []),
        ("POST", f"/api/projects/{PROJECT_ID}/update"): (200, PROJECT),
        ("GET", f"/api/projects/{PROJECT_ID}/stats"): (200, {"cpu_percent": 1.0}),
        ("GET", f"/api/projects/{PROJECT_ID}/usage"): (200, []),
    }
    if method == "DELETE" or path == "/api/auth/logout":
        return Answer(204, b"")
    if path.endswith("/logs"):
        return Answer(200, b"2026-01-01T00:00:00Z One line.\n", {"Content-Type": "text/plain"})
    if path.endswith("/control"):
        status = "stopped" if json.loads(request.body)["action"] == "stop" else "running"
        return Answer.json(200, {**PROJECT, "status": status})
    return Answer.json(*answers.get((method, path), (200, PROJECT)))


def refuse(status: int, code: str, detail: str, **headers: str) -> Answer:
    problem = {"type": "about:blank", "title": "No", "status": status, "detail": detail, "code": code}
    return Answer.json(status, problem, **headers)
