"""Loaded by schemathesis: tells it the contents of the catalogue, and counts what was sent and answered."""

import atexit
import json
import os
import re
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import schemathesis

from accounts.text import has_control_characters, hides_something

counts: Counter[str] = Counter()
_numbers = count()
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


@schemathesis.hook
def before_load_schema(_context: Any, raw_schema: dict[str, Any]) -> None:
    """The description is the same for every catalogue: clients learn from /api/plans and /api/types what there is."""
    offers = json.loads(os.environ["FUZZ_OFFERS"])
    new, change = (
        raw_schema["components"]["schemas"][name] for name in ("NewProjectRequest", "PatchedProjectChangeRequest")
    )
    new["properties"] |= offers["properties"]
    new["required"] += offers["required"]
    change["properties"] |= {name: what for name, what in offers["properties"].items() if name in change["properties"]}
    change["properties"]["settings"] = _as_patch(offers["properties"]["settings"])
    budget = raw_schema["components"]["schemas"]["OwnBudgetRequest"]["properties"]
    for name, limit in offers["budget"].items():
        budget[name]["maximum"] = limit


def _as_patch(settings: dict[str, Any]) -> dict[str, Any]:
    """A change merges settings (RFC 7396): any of them may be missing, and null removes one."""
    nullable = {name: {"anyOf": [what, {"type": "null"}]} for name, what in settings["properties"].items()}
    return {**settings, "properties": nullable, "required": []}


@schemathesis.hook
def before_call(_context: Any, case: Any, _options: Any) -> None:
    """What cannot be said in a schema.

    A key is for one request: used again, it gets an answer of before, about a project that may be gone by now. And a
    whole number is written without a point, which JSON Schema does not care about. And a name holds nothing that
    is not seen, but for what emoji and scripts need, and no setting a control character. And credentials of servers
    are those of servers that another setting names.
    """
    key = (case.headers or {}).get("Idempotency-Key")
    if isinstance(key, str) and 0 < len(key) < 200:
        case.headers["Idempotency-Key"] = f"{key}{next(_numbers)}"
    body = case.body if isinstance(case.body, dict) else {}
    if isinstance(body.get("name"), str):
        body["name"] = "".join("x" if _is_hidden(character) else character for character in body["name"])
    for part in ("settings", "budget"):
        if part in body:
            body[part] = _as_people_write(body[part])
    if isinstance(body.get("settings"), dict):
        body["settings"].pop("server_credentials", None)


def _as_people_write(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_people_write(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_as_people_write(inner) for inner in value]
    if isinstance(value, str):
        return _CONTROL.sub("x", value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_hidden(character: str) -> bool:
    return hides_something(character) and not has_control_characters(character)


@schemathesis.hook
def after_call(_context: Any, case: Any, response: Any) -> None:
    counts[f"{response.status_code} {case.method} {case.path}"] += 1


@atexit.register
def write() -> None:
    Path(os.environ["FUZZ_COUNTS"]).write_text(json.dumps(counts))
