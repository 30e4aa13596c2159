"""Replaces long texts in a request by placeholders before it is parsed, and restores them unchanged afterwards. Pure.

Parsing or writing a text of 27 MB in one go would block everything else. Its syntax is checked in slices.
"""

import json
import re
import secrets
from functools import cached_property
from typing import NamedTuple

from gateway.providers.time_slices import Slices
from gateway.rules.refusals import RefusedError, Why

LONG = 256 * 1024
"""Bytes of a slice, which takes a millisecond. Texts are only extracted from requests that are longer."""
MIN_EXTRACTED = 8 * 1024
"""Bytes. Shorter texts stay, because extracting them takes longer than parsing them."""
MAX_REMAINDER = 12 * 1024 * 1024
"""Bytes without the extracted texts: a conversation of a million tokens in short pieces, in any language."""
_TOO_MUCH = "Texts shorter than 8 kB may be 12 MB together: send fewer messages, or shorten the conversation."
MAX_TEXTS = 200_000
"""The most texts to examine. A request with more of them is long because of their number, not their length."""
TEXTS_PER_SLICE = 2000
PREFIX_LENGTH = 64
"""Characters of a text that its placeholder starts with, up to the first one that is not plain. They identify PDFs,
`data:` URLs and the like."""
_PLAIN = re.compile(r"[A-Za-z0-9:;,/+=. -]*")
_ESCAPE = 6
"""Bytes of the longest escape."""
_PADDING = "-" * 200
"""Makes a placeholder too long for the name of a model, like the text itself."""
_DIGITS = 6
_BACKSLASH = ord("\\")
_CHARACTERS = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)


class _Text(NamedTuple):
    name: str
    """The placeholder."""
    raw: memoryview
    """The received bytes between the quotes."""
    length: int
    """The length in characters."""


class ExtractedTexts:
    def __init__(self) -> None:
        self._texts: list[_Text] = []
        self._lengths: dict[str, int] = {}

    @cached_property
    def _mark(self) -> str:
        """A random string that occurs in all placeholders and nowhere else."""
        return secrets.token_hex(16)

    def add(self, raw: memoryview, beginning: str, length: int) -> str:
        """Returns the placeholder for a text."""
        plain = _PLAIN.match(beginning)
        name = f"{plain[0] if plain else ''}{_PADDING}{self._mark}{len(self._texts):0{_DIGITS}}"
        self._texts.append(_Text(name, raw, length))
        self._lengths[name] = length
        return name

    def length(self, text: str) -> int:
        """Returns the length of the text that this placeholder stands for, or the length of any other text."""
        return self._lengths.get(text, len(text))

    def restore(self, written: bytes) -> bytes:
        """Returns the written request with the texts in place of their placeholders."""
        if not self._texts:
            return written
        pieces: list[bytes | memoryview] = []
        at, mark = 0, self._mark.encode()
        while (found := written.find(mark, at)) >= 0:
            end = found + len(mark) + _DIGITS
            text = self._texts[int(written[end - _DIGITS : end])]
            pieces += [written[at : end - len(text.name)], text.raw]
            at = end
        return b"".join([*pieces, written[at:]])


def extract_texts(body: bytes) -> Slices[tuple[bytes, ExtractedTexts]]:
    """Returns the rest of the request, and its long texts. Raises RefusedError for an invalid text.

    Relies on the fact that everything between two unescaped quotes is a text if the request is JSON.
    """
    texts, view, kept, at = ExtractedTexts(), memoryview(body), list[bytes](), 0
    begin = end = -1
    seen = taken = 0
    for number in range(MAX_TEXTS if len(body) > LONG else 0):
        begin = body.find(b'"', end + 1)
        end = (yield from _find_end(body, begin)) if begin >= 0 else -1
        if end < 0:
            break
        seen += end - begin
        if end - begin > MIN_EXTRACTED:
            beginning, length = yield from _read(body, begin + 1, end)
            kept += [body[at : begin + 1], texts.add(view[begin + 1 : end], beginning, length).encode()]
            taken += end - begin
            at = end
        if seen > LONG // 2 or number % TEXTS_PER_SLICE == 0:
            seen = 0
            yield
    if len(body) - taken > MAX_REMAINDER:
        raise RefusedError(Why.TOO_LARGE, _TOO_MUCH)
    return (b"".join([*kept, body[at:]]) if kept else body), texts


def _find_end(body: bytes, begin: int) -> Slices[int]:
    """Returns the position of the closing quote of the text that begins here; -1 if there is none."""
    end = body.find(b'"', begin + 1)
    if end < 0 or body[end - 1] != _BACKSLASH:
        return end
    at = begin + 1
    while found := _CHARACTERS.match(body, at, at + LONG):
        at = found.end()
        if body[at : at + 1] == b'"':
            return at
        if found.start() == at:
            break
        yield
    return -1


def _read(body: bytes, at: int, end: int) -> Slices[tuple[str, int]]:
    """Returns the beginning of a text and its length in characters. Raises RefusedError if it is invalid."""
    beginning, length = "", 0
    while at < end:
        cut = _find_cut(body, at, end)
        try:
            text = json.loads(f'"{body[at:cut].decode()}"')
        except ValueError:
            raise RefusedError(Why.BAD, "The request is no valid JSON.") from None
        beginning = beginning or text[:PREFIX_LENGTH]
        length += len(text)
        at = cut
        if cut < end:
            yield
    return beginning, length


def _find_cut(body: bytes, at: int, end: int) -> int:
    """Returns the end of the slice that begins at `at`: between two characters, and not within an escape."""
    cut = at + LONG
    if cut >= end:
        return end
    # Go back to the first byte of a character.
    cut -= next((back for back in range(4) if body[cut - back] & 0xC0 != 0x80), 0)
    last = body.rfind(b"\\", cut - _ESCAPE, cut)
    if last < 0:
        return cut
    before = body[at : last + 1]
    in_a_row = len(before) - len(before.rstrip(b"\\"))
    return last if in_a_row % 2 else cut  # two backslashes are an escape; an odd one begins another
