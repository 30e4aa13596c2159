"""The most that a call can cost in tokens, before it is asked. Pure.

A token stands for at least one byte of text, so that a request has no more of them than bytes. Pictures and sounds have
another measure; they count a flat number each, and PDFs by their pages. They are taken for such only where a provider
reads them as such: what an agent calls a picture in the description of a tool, say, is text that the model reads.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gateway.entries.entry import Limits
from gateway.providers.slices import Slices
from gateway.providers.unseen import AT_A_TIME, TELLING, adds_unseen, is_one_of, leads_elsewhere, names_in

_PICTURES = frozenset({"image", "image_url", "input_image"})
_OTHER_MEDIA = frozenset({"audio", "input_audio", "document", "file", "input_file", "video_url"})
_BY_ADDRESS = frozenset({"image_url", "input_image"})
LengthOf = Callable[[str], int]
_HOLDERS = (dict, list)
OF_A_PICTURE = 5000
"""Tokens of the largest picture: 3,779 of `nano` models (OpenAI, 1,536 patches at 2.46), 5,000 of Claude Opus 4.7 and
later (Anthropic, 3.75 megapixels), 4,128 of Gemini."""
_DEAR_PICTURES = (
    (re.compile(r"gpt-4o-mini\b", re.IGNORECASE), 48_169),
    (re.compile(r"gpt-(?:5\.[4-9]|[6-9]|\d\d|latest)(?!.*-(?:mini|nano))", re.IGNORECASE), 10_000),
)
"""Models whose pictures have more tokens: 2,833 and 5,667 for each of up to eight tiles, and 10,000 patches in their
`original` detail (OpenAI, "Images and vision")."""
OF_TOOLS = 1000
"""Tokens that a provider writes around the tools of an agent. Anthropic tells up to 804 of them ("Tool use")."""
PIECE = 100_000
"""Characters of an encoded picture or sound, beyond which each as many count once more: a sound may be long."""
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


def bound_input(document: dict[str, Any], size: int, limits: Limits, length_of: LengthOf = len) -> Slices[Bound]:
    """What the input of a call has at the most. `size` is that of the request in bytes, and `length_of` says it of a
    text that the document stands for."""
    pictures, media, is_cached, is_elsewhere = yield from _look_at_objects(document)
    is_unseen = is_elsewhere or (yield from adds_unseen(document))
    encoded, files = yield from _look_at_parts(document, length_of)
    added = (
        (limits.unseen_tokens if is_unseen else 0) + (OF_TOOLS if _has_tools(document) else 0) + _pages(files, limits)
    )
    media += sum(length // PIECE for length in encoded)
    added += media * limits.media_tokens + (pictures * _of_a_picture(document, limits) if pictures else 0)
    return Bound(max(0, size - sum(encoded) - sum(files)) + added, is_cached)


def _of_a_picture(document: dict[str, Any], limits: Limits) -> int:
    names = list(names_in(document))
    dear = [tokens for known, tokens in _DEAR_PICTURES if any(map(known.search, names))]
    return max(limits.media_tokens, OF_A_PICTURE, *dear)


def _pages(files: list[int], limits: Limits) -> int:
    """Tokens of encoded PDFs of these lengths. All together have no more than such that the provider fetches itself,
    which is what a model can read at a time."""
    return min(limits.unseen_tokens, OF_A_PAGE * sum(1 + length * 3 // 4 // PAGE for length in files))


def _has_tools(document: dict[str, Any]) -> bool:
    return bool(document.get("tools") or document.get("functions"))


def _look_at_objects(document: dict[str, Any]) -> Slices[tuple[int, int, bool, bool]]:
    """Returns of all objects in the document: how many are pictures and how many are other media, whether one is to be
    kept, and whether one leads elsewhere."""
    pictures, media, is_cached, is_elsewhere, seen = 0, 0, False, False, 0
    left: list[Any] = [document]
    while left:
        taken = left[-AT_A_TIME:]
        del left[-AT_A_TIME:]
        for each in taken:
            is_object = isinstance(each, dict)
            if is_object and not TELLING.isdisjoint(each):
                pictures += is_one_of(each.get("type"), _PICTURES)
                media += is_one_of(each.get("type"), _OTHER_MEDIA)
                is_elsewhere = is_elsewhere or leads_elsewhere(each)
                is_cached = is_cached or "cache_control" in each
            values = each.values() if is_object else each
            left += [value for value in values if value and isinstance(value, _HOLDERS)]
        seen += len(taken)
        if seen >= AT_A_TIME:
            seen = 0
            yield
    return pictures, media, is_cached, is_elsewhere


def _look_at_parts(document: dict[str, Any], length_of: LengthOf) -> Slices[tuple[list[int], list[int]]]:
    """The lengths of what is encoded in the parts of messages: of pictures and sounds, and of PDFs."""
    encoded, files = list[int](), list[int]()
    for number, part in enumerate(_parts(document), 1):
        if number % AT_A_TIME == 0:
            yield
        if part:
            encoded += map(length_of, _encoded(part))
            files += [length] if (length := length_of(_pdf(part))) else []
    return encoded, files


def _parts(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The parts of messages, and of what tools have answered."""
    for holder in ("messages", "input"):
        for message in _dicts(document.get(holder)):
            for part in (*_dicts(message.get("content")), *_dicts(message.get("output"))):
                yield part
                yield from _dicts(part.get("content"))


def _dicts(value: object) -> Iterator[dict[str, Any]]:
    return (each for each in value if isinstance(each, dict)) if isinstance(value, list) else iter(())


def _encoded(part: dict[str, Any]) -> Iterator[str]:
    """The strings in this part that are no text but a picture or a sound, in base64."""
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
    """The PDF in this part, in base64. Other files are text that the model reads."""
    kind, source, data = part.get("type"), part.get("source"), None
    if kind == "document" and isinstance(source, dict) and source.get("media_type") == "application/pdf":
        data = source.get("data")
    elif kind in ("file", "input_file"):
        holder = part.get("file") if kind == "file" else part
        data = holder.get("file_data") if isinstance(holder, dict) else None
    return data if isinstance(data, str) and _PDF.match(data) else ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
