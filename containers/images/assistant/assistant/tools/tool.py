"""A tool as the model sees it, and the caller on whose behalf it runs."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from assistant.storage.memory import Place


class Caller(NamedTuple):
    """The chat in which a tool is used, and the language of the person who asks there."""

    place: Place
    language: str | None


class ToolError(Exception):
    """Says in a sentence for the model why a tool failed."""


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
