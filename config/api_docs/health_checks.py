"""Describes the health checks. They are not views of the REST framework, which would do more before they answer."""

from typing import Any

_WORD = {"type": "string", "enum": ["ok", "unavailable"]}
_PARTS: dict[str, dict[str, Any]] = {
    "status": _WORD,
    "database": {"type": "string", "enum": ["ok", "unavailable", "read-only", "busy", "full", "replaced"]},
    "engine": _WORD,
    "watcher": {**_WORD, "description": "Missing if none has ever run."},
    "keys": {
        "type": "string",
        "enum": ["differ"],
        "description": "Present if this server's secret key, token key or cache differs from those of the latest one.",
    },
    "mending": {"type": "string", "description": "Present while nothing is repaired until an operator decides."},
    "firewall": {
        "type": "string",
        "enum": ["missing"],
        "description": "Present while the agents' firewall is not in force.",
    },
    "gateway": {"type": "string", "enum": ["unavailable"], "description": "Present while the gateway does not work."},
    "server": {"type": "string", "enum": ["ending"], "description": "Present once this server is about to stop."},
}


_ALWAYS = ("status", "database", "engine")


def _answer(description: str, properties: dict[str, Any], *required: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _operation(name: str, description: str, responses: dict[str, Any]) -> dict[str, Any]:
    return {
        "get": {
            "operationId": name,
            "description": description,
            "tags": ["health"],
            "security": [{}],
            "responses": responses,
        }
    }


HEALTH_CHECKS = {
    "/healthz": _operation(
        "check_health",
        "Report that the process works, even if everything else is broken.",
        {"200": _answer("It works.", {"status": {"type": "string", "enum": ["ok"]}}, "status")},
    ),
    "/readyz": _operation(
        "check_readiness",
        "Report whether the database accepts changes, the engine answers, and a watcher works.",
        {
            "200": _answer("Everything works.", _PARTS, *_ALWAYS),
            "503": _answer("Something does not work; the parts say what.", _PARTS, *_ALWAYS),
        },
    ),
    "/readyz/server": _operation(
        "check_server",
        "Tell a proxy whether to send requests to this server. Shared parts, such as the engine, do not count.",
        {
            "200": _answer("It serves.", {"status": {"type": "string", "enum": ["ok"]}}, "status"),
            "503": _answer("It is about to stop.", {"status": {"type": "string", "enum": ["ending"]}}, "status"),
        },
    ),
}


def add_health_checks(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:  # noqa: ARG001, FBT001 - spectacular's signature
    result["paths"] |= HEALTH_CHECKS
    return result
