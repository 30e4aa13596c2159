"""Extracts the text of rich messages and checklists. Pure functions."""

from collections.abc import Iterator
from typing import Any

from telegram import Message

WORDS = ("text", "expression", "alternative_text")
"""The keys of a rich message's part that contain its text or nested parts."""


def read_rich_text(message: Message) -> str:
    """Returns the text, or an empty string for any other message. The library does not know rich messages yet."""
    if message.checklist is not None:
        tasks = (f"- [{'x' if task.completion_date else ' '}] {task.text}" for task in message.checklist.tasks)
        return "\n".join((message.checklist.title, *tasks))
    rich = message.api_kwargs.get("rich_message")
    blocks = rich.get("blocks") if isinstance(rich, dict) else None
    return "\n".join(line for line in map(str.strip, _lines(blocks)) if line)


def _lines(part: Any) -> Iterator[str]:
    """Yields the texts of blocks of any kind, in order. New kinds of blocks come with each version of Telegram."""
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
