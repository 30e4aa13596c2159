"""Cuts an answer into messages that Telegram takes. Pure rules."""

import unicodedata

LIMIT = 4096  # UTF-16 code units, which is how Telegram counts
MOST_PARTS = 16  # a longer answer would run into Telegram's flood limits
CUT_NOTE = "\n[The rest of this answer was cut off.]"
BREAKS = ("\n\n", "\n", " ")
JOINER = "\u200d"  # holds composed emoji together


def units(text: str) -> int:
    return len(text) + sum(letter > "\uffff" for letter in text)


def clean(text: str) -> str:
    """The text without what cannot be sent: half surrogate pairs and NUL."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "")


def split(text: str, limit: int = LIMIT) -> list[str]:
    """Parts of at most `limit` UTF-16 code units, cut at line ends or spaces where possible. No part is blank."""
    parts: list[str] = []
    rest = clean(text).strip()
    while rest and len(parts) < MOST_PARTS:
        end = _cut(rest, limit)
        part, rest = rest[:end].rstrip(), rest[end:].strip("\n ")
        if part.strip():
            parts.append(part)
    if rest.strip():
        parts[-1] = parts[-1][: _fitting(parts[-1], limit - units(CUT_NOTE))] + CUT_NOTE
    return parts


def _fitting(text: str, limit: int) -> int:
    """How many characters from the start fit into `limit` code units."""
    if units(text) <= limit:
        return len(text)
    room = limit
    for index, letter in enumerate(text):
        room -= 2 if letter > "\uffff" else 1
        if room < 0:
            return index
    return len(text)


def _cut(text: str, limit: int) -> int:
    end = _fitting(text, limit)
    if end == len(text):
        return end
    for mark in BREAKS:
        place = text.rfind(mark, end // 2, end + 1)  # not earlier than half, or messages get too many
        if place > 0:
            return place
    return _between_letters(text, end)


def _between_letters(text: str, end: int) -> int:
    """The nearest place before `end`, a few characters at most, that is not inside a composed letter or emoji."""
    for place in range(end, max(end - 16, 1), -1):
        inside = unicodedata.combining(text[place]) or text[place] in (JOINER, "\ufe0f") or text[place - 1] == JOINER
        if not inside:
            return place
    return end
