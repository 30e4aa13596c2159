"""The words of messages that are more than a text: rich messages and checklists. Pure rules."""

from collections.abc import Iterator
from typing import Any

from telegram import Message

WORDS = ("text", "expression", "alternative_text")
"""Where a part of a rich message has its words, or parts of its own."""


def read_words(message: Message) -> str:
    """Empty where it is neither. The library does not know rich messages yet."""
    if message.checklist is not None:
        tasks = (f"- [{'x' if task.completion_date else ' '}] {task.text}" for task in message.checklist.tasks)
        return "\n".join((message.checklist.title, *tasks))
    rich = message.api_kwargs.get("rich_message")
    blocks = rich.get("blocks") if isinstance(rich, dict) else None
    return "\n".join(line for line in map(str.strip, _lines(blocks)) if line)


def _lines(part: Any) -> Iterator[str]:
    """Of blocks of any kind, in the order in which they stand: new kinds come with each version."""
    if isinstance(part, list):
        for each in part:
            yield from _lines(each)
    elif isinstance(part, dict):
        yield _text(part)
        for name, value in part.items():
            if name not in WORDS:
                yield from _lines(value)


def _text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, list):
        return "".join(map(_text, part))
    return "".join(_text(part[name]) for name in WORDS if name in part) if isinstance(part, dict) else ""
