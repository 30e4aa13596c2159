"""Reads what a provider sends: a stream of server-sent events, or one JSON document."""

import json
from collections.abc import AsyncIterator
from typing import Any

LONGEST_EVENT = 4 << 20  # bytes
LONGEST_DOCUMENT = 16 << 20
END = "[DONE]"  # what OpenAI and those like it send last


async def read_events(pieces: AsyncIterator[bytes]) -> AsyncIterator[dict[str, Any] | None]:
    """The JSON object of each event; None for the mark of the end. Raises ValueError for what is no such stream."""
    async for line in _lines(pieces):
        name, _, data = line.partition(":")
        if name != "data":  # the objects of Anthropic say themselves what they are; comments keep a connection open
            continue
        data = data.strip()
        if data == END:
            yield None
        elif data:
            yield as_object(json.loads(data))


async def read_document(pieces: AsyncIterator[bytes]) -> bytes:
    """Raises ValueError for one that is too long."""
    content = bytearray()
    async for piece in pieces:
        content += piece
        if len(content) > LONGEST_DOCUMENT:
            raise ValueError("a provider's answer is too long")
    return bytes(content)


def as_object(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError("a provider's answer is no object")  # noqa: TRY004 - bad content, as bad JSON is
    return found


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace").rstrip("\r")
        if len(rest) > LONGEST_EVENT:
            raise ValueError("an event is too long")
    if rest:
        yield rest.decode("utf-8", "replace").rstrip("\r")
