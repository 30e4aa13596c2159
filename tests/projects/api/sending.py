"""Invalid requests to every path that accepts a body."""

import json
from typing import Any

from rest_framework.test import APIClient

from projects.models import AgentType, Event, IdempotencyRecord, Plan, Project
from tests.fakes.engine import MemoryEngine

LIMIT = 64 * 1024
CREATING = ("create", "validate")
WRITING = ("create", "validate", "change")
EVERY = (*WRITING, "control", "login")


def everything(engine: MemoryEngine) -> list[Any]:
    """Returns all rows and containers, and what the engine was told to do."""
    models = (Project, Event, IdempotencyRecord, Plan, AgentType)
    acts = [call for call in engine.calls if call[0] in {"deploy", "start", "stop", "remove"}]
    rows = [list(model._default_manager.order_by("pk").values()) for model in models]
    return [*rows, acts, sorted(engine.containers), sorted(engine.volumes)]


class Sender:
    """Sends requests to one of the paths that accept a body, as Alice."""

    def __init__(self, api: APIClient, project: Project, good: dict[str, Any]) -> None:
        path = f"/api/projects/{project.id}"
        self.api = api
        self.routes: dict[str, tuple[str, str, dict[str, Any]]] = {
            "create": ("POST", "/api/projects", good),
            "validate": ("POST", "/api/projects/validate", good),
            "change": ("PATCH", path, {"name": "Renamed"}),
            "control": ("POST", f"{path}/control", {"action": "stop"}),
            "login": ("POST", "/api/auth/login", {"email": "nobody@example.org", "password": "no password at all"}),
        }

    def raw(self, route: str, content: Any, content_type: str = "application/json", **extra: Any) -> Any:
        method, path, _ = self.routes[route]
        return self.api.generic(method, path, content, content_type, **extra)

    def without(self, route: str, field: str) -> Any:
        return self.raw(route, as_json({name: value for name, value in self.good(route).items() if name != field}))

    def with_(self, route: str, **fields: Any) -> Any:
        return self.raw(route, as_json(self.good(route) | fields))

    def good(self, route: str) -> dict[str, Any]:
        return self.routes[route][2]


def as_json(document: Any) -> Any:
    """Like `json.dumps`, so that half a surrogate pair is sent as an escape. Returns bytes, which the stubs refuse."""
    return json.dumps(document).encode()
