"""A tool as the model sees it, and who has it used."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from assistant.remembering.memory import Place


class Caller(NamedTuple):
    """In whose chat a tool is used, and the language of who asks there."""

    place: Place
    language: str | None


class ToolError(Exception):
    """What a tool could not do, as a sentence for the model."""


@dataclass(frozen=True)
class Tool:
    name: str
    description: str
    parameters: dict[str, Any]
    """A JSON Schema."""
    run: Callable[[Caller, dict[str, Any]], Awaitable[str]]
    """Raises ToolError."""


def schema_of(required: tuple[str, ...] = (), **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}
