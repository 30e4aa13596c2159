"""Describes the health checks, which are no views of the REST framework: nothing may stand before them."""

from typing import Any

_WORD = {"type": "string", "enum": ["ok", "unavailable"]}
_PARTS: dict[str, dict[str, Any]] = {
    "status": _WORD,
    "database": {"type": "string", "enum": ["ok", "unavailable", "read-only", "busy", "full"]},
    "engine": _WORD,
    "watcher": {**_WORD, "description": "Missing where none has ever been."},
    "keys": {
        "type": "string",
        "enum": ["differ"],
        "description": "There while this server has another secret key, token key or cache than the one started last.",
    },
    "mending": {"type": "string", "description": "There while nothing is repaired until an operator decides."},
    "firewall": {"type": "string", "enum": ["missing"], "description": "There while the agents' firewall is not."},
    "gateway": {"type": "string", "enum": ["unavailable"], "description": "There while the gateway does not work."},
    "server": {"type": "string", "enum": ["ending"], "description": "There once this server is about to end."},
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
        "Tell that the process lives, no matter what else is broken.",
        {"200": _answer("It does.", {"status": {"type": "string", "enum": ["ok"]}}, "status")},
    ),
    "/readyz": _operation(
        "check_readiness",
        "Tell whether the database takes changes, the engine answers, a watcher works, and this server stays.",
        {
            "200": _answer("All of it.", _PARTS, *_ALWAYS),
            "503": _answer("Not all of it; the parts say what is missing.", _PARTS, *_ALWAYS),
        },
    ),
    "/readyz/server": _operation(
        "check_server",
        "Tell a proxy whether to send requests to this server. What all servers need, as the engine, does not count.",
        {
            "200": _answer("It serves.", {"status": {"type": "string", "enum": ["ok"]}}, "status"),
            "503": _answer("It is about to end.", {"status": {"type": "string", "enum": ["ending"]}}, "status"),
        },
    ),
}


def add_health_checks(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:  # noqa: ARG001, FBT001 - spectacular's signature
    result["paths"] |= HEALTH_CHECKS
    return result
