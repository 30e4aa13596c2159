"""What the model is asked, before a dialect writes it down. Pure rules."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from assistant.model.heard import Step
from assistant.model.parts import Part
from assistant.remembering.memory import Message
from assistant.tools.tool import Tool


@dataclass(frozen=True)
class Prompt:
    instructions: str
    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    steps: Sequence[Step] = ()
    """What was done already for this answer."""
    may_call: bool = True


def write_message(message: Message, attach: Callable[[Part], dict[str, Any]]) -> dict[str, Any]:
    """The files stand in front of the text, as providers advise."""
    if not message.parts:
        return {"role": message.role, "content": message.content}
    text = [{"type": "text", "text": message.content}]
    return {"role": message.role, "content": [*map(attach, message.parts), *text]}
