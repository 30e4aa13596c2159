"""The most that a call can cost in tokens, before it is asked. Pure.

A token stands for at least one byte of text, so that a request has no more of them than bytes. Pictures and sounds have
another measure; they count a flat number each, and PDFs by their pages. They are taken for such only where a provider
reads them as such: what an agent calls a picture in the description of a tool, say, is text that the model reads.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from gateway.entries.entry import Limits

_MEDIA = frozenset({
    "image", "image_url", "input_image", "audio", "input_audio", "document", "file", "input_file", "video_url",
})  # fmt: skip
_PICTURES = frozenset({"image_url", "input_image"})
_AGENTS_TOOLS = frozenset({"function", "custom"})
_UNSEEN = ("previous_response_id", "conversation", "container", "mcp_servers", "plugins", "web_search_options")
_SEARCHING = re.compile(r":online\b|-search-(?:preview|api)(?![a-z])")
"""In names of models that search the internet, and read what they find (OpenRouter, OpenAI). A date may follow, and how
OpenRouter is to choose (`:floor`)."""
OF_TOOLS = 1000
"""Tokens that a provider writes around the tools of an agent. Anthropic tells up to 804 of them ("Tool use")."""
PIECE = 100_000
"""Characters of an encoded picture or sound that count as one of them. Longer ones count as several."""
OF_A_PAGE = 5000
"""Tokens of a PDF's page: up to 3,000 of its text, and some 1,600 of the picture of it (Anthropic, "PDF support")."""
PAGE = 2000
"""Bytes. Programs write no page of so much text, or with a picture, in less: text is packed to a third of its size."""
_PDF = re.compile(r"(?:data:application/pdf;base64,)?JVBERi")
"""How a PDF begins that is encoded."""


class Bound(NamedTuple):
    tokens: int
    is_cached: bool
    """Whether the provider may be asked to keep some of the input, which makes that dearer."""


def bound_input(document: dict[str, Any], size: int, limits: Limits) -> Bound:
    """What the input of a call has at the most. `size` is that of the request in bytes."""
    media, is_cached, is_unseen = 0, False, _is_unseen(document)
    for each in _objects(document):
        media += _is_one_of(each.get("type"), _MEDIA)
        is_unseen = is_unseen or _leads_elsewhere(each)
        is_cached = is_cached or "cache_control" in each
    encoded = [length for part in _parts(document) for length in _encoded(part)]
    media += sum(length // PIECE for length in encoded)
    files = [length for part in _parts(document) if (length := _pdf(part))]
    added = (
        (limits.unseen_tokens if is_unseen else 0) + (OF_TOOLS if _has_tools(document) else 0) + _pages(files, limits)
    )
    return Bound(max(0, size - sum(encoded) - sum(files)) + media * limits.media_tokens + added, is_cached)


def _pages(files: list[int], limits: Limits) -> int:
    """Tokens of encoded PDFs of these lengths. All together have no more than such that the provider fetches itself,
    which is what a model can read at a time."""
    return min(limits.unseen_tokens, OF_A_PAGE * sum(1 + length * 3 // 4 // PAGE for length in files))


def _is_unseen(document: dict[str, Any]) -> bool:
    """Whether the provider adds what stands elsewhere."""
    models = document.get("models")
    names = [document.get("model"), *(models if isinstance(models, list) else ())]
    return (
        any(document.get(name) for name in _UNSEEN)
        or isinstance(document.get("prompt"), dict)
        or any(isinstance(name, str) and _SEARCHING.search(name) for name in names)
        or _has_own_tools(document.get("tools"))
    )


def _has_tools(document: dict[str, Any]) -> bool:
    return bool(document.get("tools") or document.get("functions"))


def _has_own_tools(tools: object) -> bool:
    """Whether the provider adds what tools find that it runs itself."""
    return isinstance(tools, list) and any(
        isinstance(tool, dict) and tool.get("type") is not None and not _is_one_of(tool["type"], _AGENTS_TOOLS)
        for tool in tools
    )


def _leads_elsewhere(each: dict[str, Any]) -> bool:
    """Whether the provider fetches a file, whose length nobody here knows."""
    return "file_id" in each or "file_url" in each or (each.get("type") == "url" and "url" in each)


def _is_one_of(value: object, known: frozenset[str]) -> bool:
    """Agents may send anything, also what has no place in a set."""
    return isinstance(value, str) and value in known


def _objects(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    left: list[Any] = [document]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            yield each
            left.extend(value for value in each.values() if isinstance(value, dict | list))
        else:
            left.extend(value for value in each if isinstance(value, dict | list))


def _parts(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The parts of messages, and of what tools have answered."""
    for holder in ("messages", "input"):
        for message in _dicts(document.get(holder)):
            for part in (*_dicts(message.get("content")), *_dicts(message.get("output"))):
                yield part
                yield from _dicts(part.get("content"))


def _dicts(value: object) -> Iterator[dict[str, Any]]:
    return (each for each in value if isinstance(each, dict)) if isinstance(value, list) else iter(())


def _encoded(part: dict[str, Any]) -> Iterator[int]:
    """The lengths of the strings in this part that are no text but a picture or a sound, in base64."""
    kind, source, sound = part.get("type"), part.get("source"), part.get("input_audio")
    if kind == "image" and isinstance(source, dict) and source.get("type") == "base64":
        yield _length(source.get("data"))
    if kind == "input_audio" and isinstance(sound, dict):
        yield _length(sound.get("data"))
    if _is_one_of(kind, _PICTURES):
        url = part.get("image_url")
        address = url.get("url") if isinstance(url, dict) else url
        if isinstance(address, str) and address.startswith("data:"):
            yield len(address)


def _pdf(part: dict[str, Any]) -> int:
    """The length of the PDF in this part, in base64. Other files are text that the model reads."""
    kind, source, data = part.get("type"), part.get("source"), None
    if kind == "document" and isinstance(source, dict) and source.get("media_type") == "application/pdf":
        data = source.get("data")
    elif kind in ("file", "input_file"):
        holder = part.get("file") if kind == "file" else part
        data = holder.get("file_data") if isinstance(holder, dict) else None
    return len(data) if isinstance(data, str) and _PDF.match(data) else 0


def _length(value: object) -> int:
    return len(value) if isinstance(value, str) else 0
