"""Reads a provider's response: a stream of server-sent events, or one JSON document."""

import json
from collections.abc import AsyncIterator
from typing import Any

LONGEST_EVENT = 4 << 20  # bytes
LONGEST_DOCUMENT = 16 << 20
END = "[DONE]"  # the last event of OpenAI and compatible providers


async def read_events(pieces: AsyncIterator[bytes]) -> AsyncIterator[dict[str, Any] | None]:
    """Yields the JSON object of each event, and None for the end marker. Raises ValueError if it is no such stream."""
    async for line in _lines(pieces):
        name, _, data = line.partition(":")
        if name != "data":  # Anthropic's objects contain their type; comments only keep the connection open
            continue
        data = data.strip()
        if data == END:
            yield None
        elif data:
            yield as_object(json.loads(data))


async def read_document(pieces: AsyncIterator[bytes]) -> bytes:
    """Returns the whole response. Raises ValueError if it is too long."""
    content = bytearray()
    async for piece in pieces:
        content += piece
        if len(content) > LONGEST_DOCUMENT:
            raise ValueError("a provider's answer is too long")
    return bytes(content)


def as_object(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError("a provider's answer is no object")  # noqa: TRY004 - bad content, like bad JSON
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
