"""Long texts of a request: they are taken out before it is read, and put back as they came when it is written. Pure.

To read or to write a text of 27 MB in one go keeps everybody else waiting. Whether it is one is looked at in slices.
"""

import json
import re
import secrets
from typing import NamedTuple

from gateway.providers.slices import Slices
from gateway.rules.refusals import RefusedError, Why

LONG = 256 * 1024
"""Bytes of a slice, a millisecond, and of a request of which texts are taken out."""
TAKEN = 8 * 1024
"""Bytes of a text that is taken out. To do that with shorter ones takes longer than to read them."""
MOST_LEFT = 12 * 1024 * 1024
"""Bytes of all that is not taken out: a talk of a million tokens in short pieces, in any language."""
_TOO_MUCH = "Texts shorter than 8 kB may be 12 MB together: send fewer messages, or shorten the talk."
MOST_TEXTS = 200_000
"""That are looked at. Where there are more, what makes the request long is their number, and no text of it."""
AT_A_TIME = 2000
BEGINNING = 64
"""Characters of a text that stay, by which some are told from others, as far as they are plain."""
_PLAIN = re.compile(r"[A-Za-z0-9:;,/+=. -]*")
_ESCAPE = 6
"""Bytes of the longest escape."""
_FILLING = "-" * 200
"""So that what stands for a text is too long for the name of a model, as the text is."""
_DIGITS = 6
_BACKSLASH = ord("\\")
_CHARACTERS = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)


class _Text(NamedTuple):
    name: str
    """What stands for it."""
    raw: memoryview
    """As it came, between its quotes."""
    length: int
    """In characters."""


class LongTexts:
    def __init__(self) -> None:
        self._mark = secrets.token_hex(16)
        """In the names of all of them, and nowhere else."""
        self._texts: list[_Text] = []
        self._lengths: dict[str, int] = {}

    def take(self, raw: memoryview, beginning: str, length: int) -> str:
        """Returns what stands for it in the request that is read."""
        plain = _PLAIN.match(beginning)
        name = f"{plain[0] if plain else ''}{_FILLING}{self._mark}{len(self._texts):0{_DIGITS}}"
        self._texts.append(_Text(name, raw, length))
        self._lengths[name] = length
        return name

    def length(self, text: str) -> int:
        """Of the text for which this one stands, or else its own."""
        return self._lengths.get(text, len(text))

    def put_back(self, written: bytes) -> bytes:
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


def take_out(body: bytes) -> Slices[tuple[bytes, LongTexts]]:
    """What is left of the request, and its long texts. Raises RefusedError for a text that is none.

    Between two quotes without a backslash in front of them there is a text, or else the request is no JSON.
    """
    texts, view, kept, at = LongTexts(), memoryview(body), list[bytes](), 0
    begin = end = -1
    seen = taken = 0
    for number in range(MOST_TEXTS if len(body) > LONG else 0):
        begin = body.find(b'"', end + 1)
        end = (yield from _find_end(body, begin)) if begin >= 0 else -1
        if end < 0:
            break
        seen += end - begin
        if end - begin > TAKEN:
            beginning, length = yield from _read(body, begin + 1, end)
            kept += [body[at : begin + 1], texts.take(view[begin + 1 : end], beginning, length).encode()]
            taken += end - begin
            at = end
        if seen > LONG // 2 or number % AT_A_TIME == 0:
            seen = 0
            yield
    if len(body) - taken > MOST_LEFT:
        raise RefusedError(Why.TOO_LARGE, _TOO_MUCH)
    return (b"".join([*kept, body[at:]]) if kept else body), texts


def _find_end(body: bytes, begin: int) -> Slices[int]:
    """Where the text ends that begins here. -1: nowhere."""
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
    """How a text begins, and how long it is."""
    beginning, length = "", 0
    while at < end:
        cut = _find_cut(body, at, end)
        try:
            text = json.loads(f'"{body[at:cut].decode()}"')
        except ValueError:
            raise RefusedError(Why.BAD, "The request is no valid JSON.") from None
        beginning = beginning or text[:BEGINNING]
        length += len(text)
        at = cut
        if cut < end:
            yield
    return beginning, length


def _find_cut(body: bytes, at: int, end: int) -> int:
    """Where the next slice of the text ends: between two characters, and not within an escape. `at` is such a place."""
    cut = at + LONG
    if cut >= end:
        return end
    # Back to the first byte of a character.
    cut -= next((back for back in range(4) if body[cut - back] & 0xC0 != 0x80), 0)
    last = body.rfind(b"\\", cut - _ESCAPE, cut)
    if last < 0:
        return cut
    before = body[at : last + 1]
    in_a_row = len(before) - len(before.rstrip(b"\\"))
    return last if in_a_row % 2 else cut  # each two of them are an escape, and a last one begins another
