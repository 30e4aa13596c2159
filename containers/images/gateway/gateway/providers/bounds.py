"""The most that a call can cost in tokens, before it is asked. Pure.

A token stands for at least one byte of text, so that a request has no more of them than bytes. Pictures, sounds and
files have another measure; they count a flat number each.
"""

from collections.abc import Iterator
from typing import Any

from gateway.entries.entry import Limits

_MEDIA = frozenset({
    "image", "image_url", "input_image", "audio", "input_audio", "document", "file", "input_file", "video_url",
})  # fmt: skip
_OWN_TOOLS = frozenset({None, "function", "custom"})
_UNSEEN = ("previous_response_id", "conversation", "container", "mcp_servers", "plugins", "web_search_options")
PIECE = 100_000
"""Characters of an encoded picture, sound or file that count as one of them. Longer ones count as several."""


def bound_input(document: dict[str, Any], size: int, limits: Limits) -> int:
    """Tokens that the input of a call has at the most. `size` is that of the request in bytes."""
    encoded, media = 0, 0
    for each in _objects(document):
        media += each.get("type") in _MEDIA
        for length in _encoded(each):
            encoded += length
            media += length // PIECE
    text = max(0, size - encoded)
    unseen = limits.unseen_tokens if adds_unseen(document) else 0
    return text + media * limits.media_tokens + unseen


def adds_unseen(document: dict[str, Any]) -> bool:
    """Whether the provider adds input of its own: what it has stored, or what tools find that it runs itself."""
    if any(document.get(name) for name in _UNSEEN) or isinstance(document.get("prompt"), dict):
        return True
    tools = document.get("tools")
    own = isinstance(tools, list) and any(
        isinstance(tool, dict) and tool.get("type") not in _OWN_TOOLS for tool in tools
    )
    return own or any("file_id" in each or "file_url" in each for each in _objects(document))


def _objects(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    left: list[Any] = [document]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            yield each
            left.extend(each.values())
        elif isinstance(each, list):
            left.extend(each)


def _encoded(part: dict[str, Any]) -> Iterator[int]:
    """The lengths of the strings in this object that are no text but base64, where a provider reads them as such."""
    if part.get("type") == "base64":
        yield _length(part.get("data"))
    if part.get("type") == "input_audio" and isinstance(sound := part.get("input_audio"), dict):
        yield _length(sound.get("data"))
    url = part.get("image_url")
    address = url.get("url") if isinstance(url, dict) else url
    if isinstance(address, str) and address.startswith("data:"):
        yield len(address)
    yield _length(part.get("file_data"))


def _length(value: object) -> int:
    return len(value) if isinstance(value, str) else 0
