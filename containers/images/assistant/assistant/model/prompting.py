"""A request to the model, independent of the provider's API. Pure functions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from assistant.model.completion import Step
from assistant.model.parts import Part
from assistant.storage.memory import Message
from assistant.tools.tool import Tool


@dataclass(frozen=True)
class Prompt:
    instructions: str
    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    steps: Sequence[Step] = ()
    """The rounds of tool use that this answer has already had."""
    may_call: bool = True
    """Whether the model may call tools again."""


def write_message(message: Message, attach: Callable[[Part], dict[str, Any]]) -> dict[str, Any]:
    """Returns a message in the form that both APIs share. Files come before the text, as providers advise."""
    if not message.parts:
        return {"role": message.role, "content": message.content}
    text = [{"type": "text", "text": message.content}]
    return {"role": message.role, "content": [*map(attach, message.parts), *text]}
