"""Computes the most tokens that the input of a call can have, before the call is sent. Pure.

A token stands for at least one byte of text, so a request has no more tokens than bytes. Images and audio count a flat
number of tokens each, and PDFs count by their pages. They count like this only in places where a provider reads them as
media. Anywhere else, such as in the description of a tool, they are text that the model reads.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gateway.entries.entry import Limits
from gateway.providers.hidden_input import (
    OBJECTS_PER_SLICE,
    RELEVANT_KEYS,
    adds_hidden_input,
    is_one_of,
    models_in,
    refers_to_hidden_input,
)
from gateway.providers.time_slices import Slices
from gateway.providers.unknown_parts import has_unknown_parts

_PICTURES = frozenset({"image", "image_url", "input_image"})
_OTHER_MEDIA = frozenset({"audio", "input_audio", "document", "file", "input_file", "video_url"})
_BY_ADDRESS = frozenset({"image_url", "input_image"})
LengthOf = Callable[[str], int]
_HOLDERS = (dict, list)
TOKENS_PER_PICTURE = 5000
"""Tokens of the largest image: 3,779 for `nano` models (OpenAI, 1,536 patches at 2.46), 5,000 for Claude Opus 4.7 and
later (Anthropic, 3.75 megapixels), 4,128 for Gemini."""
_LARGE_PICTURES = (
    (re.compile(r"gpt-4o-mini\b", re.IGNORECASE), 48_169),
    (re.compile(r"gpt-(?:5\.[4-9]|[6-9]|\d\d|latest)(?!.*-(?:mini|nano))", re.IGNORECASE), 10_000),
)
"""Models whose images have more tokens: 2,833 and 5,667 for each of up to eight tiles, and 10,000 patches in their
`original` detail (OpenAI, "Images and vision")."""
TOOL_OVERHEAD = 1000
"""Tokens that a provider adds to the definitions of an agent's tools. Anthropic documents up to 804 ("Tool use")."""
MEDIA_SIZE = 100_000
"""Characters of encoded media that count as one more image or sound, because audio may be long."""
TOKENS_PER_PAGE = 5000
"""Tokens of a PDF's page: up to 3,000 for its text, and about 1,600 for its image (Anthropic, "PDF support")."""
BYTES_PER_PAGE = 2000
"""The fewest bytes in which programs write a page with that much text or an image. Text is compressed to a third."""
_PDF = re.compile(r"(?:data:application/pdf;base64,)?JVBERi")
"""The start of an encoded PDF."""


class Bound(NamedTuple):
    tokens: int
    is_cached: bool
    """Whether the provider may write some of the input to a cache, which costs more."""


def bound_input(document: dict[str, Any], size: int, limits: Limits, length_of: LengthOf = len) -> Slices[Bound]:
    """Returns the most tokens that the input can have.

    `size` is the size of the request in bytes. `length_of` returns the length of the text that a placeholder in the
    document stands for.
    """
    pictures, media, is_cached, is_elsewhere = yield from _scan_objects(document)
    is_unseen = is_elsewhere or (yield from adds_hidden_input(document)) or (yield from has_unknown_parts(document))
    encoded, files = yield from _scan_parts(document, length_of)
    added = (
        (limits.unseen_tokens if is_unseen else 0)
        + (TOOL_OVERHEAD if _has_tools(document) else 0)
        + _page_tokens(files, limits)
    )
    media += sum(length // MEDIA_SIZE for length in encoded)
    added += media * limits.media_tokens + (pictures * _tokens_per_picture(document, limits) if pictures else 0)
    return Bound(max(0, size - sum(encoded) - sum(files)) + added, is_cached)


def _tokens_per_picture(document: dict[str, Any], limits: Limits) -> int:
    names = list(models_in(document))
    dear = [tokens for known, tokens in _LARGE_PICTURES if any(map(known.search, names))]
    return max(limits.media_tokens, TOKENS_PER_PICTURE, *dear)


def _page_tokens(files: list[int], limits: Limits) -> int:
    """Returns the tokens of encoded PDFs with these lengths.

    Together they count no more than files that the provider fetches itself, which is the most that a model can read.
    """
    return min(limits.unseen_tokens, TOKENS_PER_PAGE * sum(1 + length * 3 // 4 // BYTES_PER_PAGE for length in files))


def _has_tools(document: dict[str, Any]) -> bool:
    return bool(document.get("tools") or document.get("functions"))


def _scan_objects(document: dict[str, Any]) -> Slices[tuple[int, int, bool, bool]]:
    """Looks at all objects in the document. Returns the number of images and of other media, whether the provider may
    cache input, and whether an object refers to hidden input."""
    pictures, media, is_cached, is_elsewhere, seen = 0, 0, False, False, 0
    left: list[Any] = [document]
    while left:
        taken = left[-OBJECTS_PER_SLICE:]
        del left[-OBJECTS_PER_SLICE:]
        for each in taken:
            is_object = isinstance(each, dict)
            if is_object and not RELEVANT_KEYS.isdisjoint(each):
                pictures += is_one_of(each.get("type"), _PICTURES)
                media += is_one_of(each.get("type"), _OTHER_MEDIA)
                is_elsewhere = is_elsewhere or refers_to_hidden_input(each)
                is_cached = is_cached or "cache_control" in each
            values = each.values() if is_object else each
            left += [value for value in values if value and isinstance(value, _HOLDERS)]
        seen += len(taken)
        if seen >= OBJECTS_PER_SLICE:
            seen = 0
            yield
    return pictures, media, is_cached, is_elsewhere


def _scan_parts(document: dict[str, Any], length_of: LengthOf) -> Slices[tuple[list[int], list[int]]]:
    """Returns the lengths of encoded images and audio in the parts of messages, and the lengths of encoded PDFs."""
    encoded, files = list[int](), list[int]()
    for number, part in enumerate(_parts(document), 1):
        if number % OBJECTS_PER_SLICE == 0:
            yield
        if part:
            encoded += map(length_of, _encoded(part))
            files += [length] if (length := length_of(_pdf(part))) else []
    return encoded, files


def _parts(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the parts of messages and of tool results."""
    for holder in ("messages", "input"):
        for message in _dicts(document.get(holder)):
            for part in (*_dicts(message.get("content")), *_dicts(message.get("output"))):
                yield part
                yield from _dicts(part.get("content"))


def _dicts(value: object) -> Iterator[dict[str, Any]]:
    return (each for each in value if isinstance(each, dict)) if isinstance(value, list) else iter(())


def _encoded(part: dict[str, Any]) -> Iterator[str]:
    """Yields the strings in this part that are an image or audio in base64."""
    kind, source, sound = part.get("type"), part.get("source"), part.get("input_audio")
    if kind == "image" and isinstance(source, dict) and source.get("type") == "base64":
        yield _text(source.get("data"))
    if kind == "input_audio" and isinstance(sound, dict):
        yield _text(sound.get("data"))
    if is_one_of(kind, _BY_ADDRESS):
        url = part.get("image_url")
        address = url.get("url") if isinstance(url, dict) else url
        if isinstance(address, str) and address.startswith("data:"):
            yield address


def _pdf(part: dict[str, Any]) -> str:
    """Returns the PDF in this part in base64, or "". Other files are text that the model reads."""
    kind, source, data = part.get("type"), part.get("source"), None
    if kind == "document" and isinstance(source, dict) and source.get("media_type") == "application/pdf":
        data = source.get("data")
    elif kind in ("file", "input_file"):
        holder = part.get("file") if kind == "file" else part
        data = holder.get("file_data") if isinstance(holder, dict) else None
    return data if isinstance(data, str) and _PDF.match(data) else ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
