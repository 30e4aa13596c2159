"""Gives each request and each answer in the description a realistic example."""

import re
from typing import Any

_END_OF_SUMMARY = re.compile(r"[.:;] |\n\n")
_PROJECT = "8b7f1c52-3d0e-4a86-9f3b-6a1c5e2d7f40"
_USER = "2f6c8e14-90ab-4c1d-8f7e-0b5d3a9c6e21"
_AT = "2026-03-14T09:26:53Z"
_SETTINGS = {"instructions": "You answer questions about the harbour, in two sentences."}
_BOT_TOKEN = "123456789:the-rest-of-your-bot-token"  # noqa: S105 - an example
_API_KEY = "<the-key-of-your-provider>"

_BY_NAME: dict[str, Any] = {
    "id": _PROJECT,
    "project": _PROJECT,
    "at": _AT,
    "created_at": "2026-03-01T08:00:00Z",
    "expires_at": "2026-06-01T08:00:00Z",
    "name": "Harbour pilot",
    "email": "ada@example.org",
    "password": "correct horse battery staple",
    "plan": "free",
    "type": "assistant",
    "slug": "free",
    "settings": _SETTINGS,
    "provider": "anthropic",
    "telegramToken": _BOT_TOKEN,
    "apiKey": _API_KEY,
    "telegram_token_hint": "w4Qx",
    "api_key_hint": "9fTA",
    "username": "harbour_pilot_bot",
    "url": "https://t.me/harbour_pilot_bot",
    "actor": "ada@example.org",
    "source": "session",
    "address": "203.0.113.7",
    "last_used_ip": "203.0.113.7",
    "action": "restart",
    "outcome": "done",
    "detail": "The agent runs again.",
    "message": "The provider refused the API key. Paste a valid key, then restart.",
    "code": "provider_key",
    "log_tail": ["2026-03-14T09:26:52Z 401 Unauthorized"],
    "model": "claude-sonnet-4-5",
    "models": None,
    "hosts": [],
    "money": "0.42",
    "day_money": "2.00",
    "month_money": "20.00",
    "warnings": [],
    "warning": None,
    "request_id": "5f0c1d7a9b3e4c28",
    "hint": "berth_Ab…wxyz",
    "key": "berth_<46 letters and digits>",
    "title": "Assistant",
    "description": "Answers in a chat, and remembers.",
    "capabilities": ["chat", "memory"],
    "status": "running",
    "status_reason": None,
    "problem": None,
    "last_known_status": "running",
    "exit_code": None,
    "restarts": 0,
    "valid": True,
    "authenticated": True,
    "second_factor": True,
    "is_default": True,
    "needs_telegram_token": True,
    "needs_api_key": True,
    "messages": 12,
    "requests": 14,
    "tokens": 7000,
    "errors": 0,
    "estimated": 0,
    "day_tokens": 200000,
    "month_tokens": 2000000,
    "network_received": 4194304,
    "network_sent": 1048576,
    "files": 41,
    "max_files": 32768,
    "stop_timeout": 10,
    "limit": 536870912,
    "used": 31457280,
    "status_checked_at": _AT,
}
_BY_PLACE: dict[str, Any] = {
    "AgentType.slug": "assistant",
    "AgentType.settings_schema": {"type": "object", "properties": {"instructions": {"type": "string"}}},
    "AgentType.default_models": {"anthropic": "claude-sonnet-4-5"},
    "AgentType.models": None,
    "AgentType.min_memory_mb": 128,
    "ApiKey.name": "deploy script",
    "IssuedKey.name": "deploy script",
    "OpenSession.kind": "api",
    "OpenSession.program": "curl",
    "BulkResult.outcome": "done",
    "Bot.id": 123456789,
    "Bot.paired": 1,
    "LoginAnswer.token": "<a session token>",
    "LoggedInUser.id": _USER,
    "SessionUser.id": _USER,
    "Me.id": _USER,
    "Me.token": {"kind": "key", "name": "deploy script", "scope": "write", "expires_at": "2026-06-01T08:00:00Z"},
    "PairingLink.code": "Zk3vX0aT9sQe",
    "PairingLink.url": "https://t.me/harbour_pilot_bot?start=Zk3vX0aT9sQe",
    "Plan.memory_mb": 256,
    "Plan.cpus": 0.25,
    "Plan.disk_mb": 512,
    "Plan.max_projects": 1,
    "Limits.reads": 600,
    "Limits.commands": 60,
    "Limits.deploys": 20,
    "Usage.cpu_percent": 1.5,
    "Usage.memory": 88080384,
    "Usage.memory_limit": 268435456,
    "Run.exit_code": 0,
    "UsageLine.messages": 12,
    "UsageLine.requests": 14,
    "UsageLine.input_tokens": 5200,
    "UsageLine.output_tokens": 1800,
}
_REQUESTS: dict[str, dict[str, Any]] = {
    "LoginRequest": {"email": "ada@example.org", "password": "<your password>"},
    "NewKeyRequest": {"name": "deploy script", "scope": "write", "expires_in_days": 90},
    "NewProjectRequest": {
        "name": "Harbour pilot",
        "type": "assistant",
        "plan": "free",
        "telegramToken": _BOT_TOKEN,
        "apiKey": _API_KEY,
        "settings": _SETTINGS,
    },
    "PatchedProjectChangeRequest": {"name": "Harbour pilot", "settings": _SETTINGS},
    "ControlRequest": {"action": "restart"},
    "BulkControlRequest": {"ids": [_PROJECT], "action": "restart"},
    "PairingRequest": {"mode": "add"},
}


_ANSWERS: dict[str, dict[str, Any]] = {
    "check_health": {"status": "ok"},
    "check_readiness": {"status": "ok", "database": "ok", "engine": "ok", "watcher": "ok"},
    "check_server": {"status": "ok"},
}


def make_request(name: str) -> dict[str, Any]:
    """Returns the example of the request with this schema name."""
    return _REQUESTS[name]


def add_examples(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:  # noqa: ARG001, FBT001 - spectacular's signature
    """Adds a summary to each operation, and examples to its ids, its body and its successful answers."""
    schemas = result["components"]["schemas"]
    for operation in (operation for path in result["paths"].values() for operation in path.values()):
        operation["summary"] = _END_OF_SUMMARY.split(operation["description"], maxsplit=1)[0].rstrip(".")
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "path":
                parameter["example"] = _PROJECT
        answers = (answer for status, answer in operation["responses"].items() if status < "300")
        for part in (operation.get("requestBody", {}), *answers):
            if (body := part.get("content", {}).get("application/json")) is not None:
                name = operation["operationId"]
                body["example"] = _ANSWERS.get(name) or make_example(body["schema"], schemas)
    return result


def make_example(schema: dict[str, Any], schemas: dict[str, Any], place: str = "", name: str = "") -> Any:
    """Returns an example of this schema. `place` is the name of the parent schema and of the field: `Parent.field`."""
    if place in _BY_PLACE or name in _BY_NAME:
        return _BY_PLACE.get(place, _BY_NAME.get(name))
    if reference := schema.get("$ref"):
        held_by = reference.rpartition("/")[2]
        return _REQUESTS.get(held_by) or make_example(schemas[held_by], schemas, held_by)
    for several in ("allOf", "oneOf", "anyOf"):
        if several in schema:
            return make_example(schema[several][0], schemas, place, name)
    if "enum" in schema or "default" in schema:
        return schema.get("default", schema.get("enum", [None])[0])
    return _by_type(schema, schemas, place)


def _by_type(schema: dict[str, Any], schemas: dict[str, Any], place: str) -> Any:
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "array":
        return [make_example(schema["items"], schemas, place)]
    if kind == "object":
        fields = schema.get("properties", {})
        held_by = place.partition(".")[0]
        return {name: make_example(each, schemas, f"{held_by}.{name}", name) for name, each in fields.items()}
    if schema.get("format") == "date-time":
        return _AT
    return {"integer": 3, "number": 1.5, "boolean": False, "string": place.rpartition(".")[2]}.get(kind)
