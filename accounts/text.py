"""Decides which characters a text may contain, and which texts look the same."""

import unicodedata
from collections.abc import Iterable

from django.core.exceptions import ValidationError

# Control characters, lone surrogates, line and paragraph separators.
_REFUSED = frozenset({"Cc", "Cs", "Zl", "Zp"})
_LINE_BREAKS = frozenset("\n\r\t")

UNSEEN = "Must not contain control characters, invisible ones, or marks that change the direction of text."
"""The message for a name for which `hides_something` returns True."""

_UNSEEN_CATEGORIES = frozenset({*_REFUSED, "Cf", "Co", "Cn"})
_UNSEEN = frozenset(map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0)))
"""Letters, marks and a symbol that are drawn as nothing (most of them `Default_Ignorable_Code_Point`)."""

_PICTOGRAPHS = range(0x1F000, 0x1FB00)
"""Ranges that Unicode keeps for emoji: one that is newer than Python's tables counts as a symbol as well."""

_NON_JOINER, _JOINER = "\u200c", "\u200d"
_SELECTORS = frozenset(map(chr, (*range(0x180B, 0x180E), 0x180F, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
_TAGS = frozenset(map(chr, range(0xE0020, 0xE007F)))
_BLACK_FLAG, _END_OF_TAGS = "\U0001f3f4", "\U000e007f"
_SKIN_TONES = frozenset(map(chr, range(0x1F3FB, 0x1F400)))
_VIRAMA = 9


def has_control_characters(text: str, *, multiline: bool = False) -> bool:
    return any(
        unicodedata.category(character) in _REFUSED and not (multiline and character in _LINE_BREAKS)
        for character in text
    )


def as_shown(text: str) -> str:
    """Returns the text as people see it on a page: composed (NFC), and with one blank for each run of white space.

    Two texts for which this is equal look the same.
    """
    return " ".join((text if text.isascii() else unicodedata.normalize("NFC", text)).split())


def join_first(texts: Iterable[str], *, most: int = 20) -> str:
    """Returns the first texts of what may be many, separated by commas, and how many others there are."""
    listed = list(texts)
    left = len(listed) - most
    return ", ".join(listed[:most]) + (f" and {left} more" if left > 0 else "")


def hides_something(text: str) -> bool:
    """Returns whether this text could be confused with another one, or looks different from what is stored.

    This applies to control characters, invisible characters, direction marks, and private or unassigned code points.
    Characters that scripts and emoji need are allowed: joiners and non-joiners (RFC 5892, A.1 and A.2), variation
    selectors, and the tags of a flag, each only in such a sequence.
    """
    if text.isascii() and text.isprintable():
        return False
    return any(_is_unseen(character) and not _is_needed(text, at) for at, character in enumerate(text))


def check_hides_nothing(value: str) -> None:
    """Validates a name. Raises Django's `ValidationError`."""
    if hides_something(value):
        raise ValidationError(UNSEEN, code="invisible")


def _is_unseen(character: str) -> bool:
    if character in _UNSEEN or character in _SELECTORS:
        return True
    category = unicodedata.category(character)
    return category in _UNSEEN_CATEGORIES and not (category == "Cn" and ord(character) in _PICTOGRAPHS)


def _is_needed(text: str, at: int) -> bool:
    """Returns whether the invisible character at this index changes how its neighbours look."""
    character, before, after = text[at], text[max(0, at - 1) : at], text[at + 1 : at + 2]
    if character in _SELECTORS:
        return _chooses_variant(before, character, after)
    if character in _TAGS or character == _END_OF_TAGS:
        return _ends_flag(text, at)
    if character == _JOINER and after and _is_pictograph(after):
        return _is_pictograph(text[:at].rstrip("\ufe0f")[-1:])
    if character not in {_JOINER, _NON_JOINER} or not before:
        return False
    is_between_arabic = {unicodedata.bidirectional(beside) for beside in (before, after or " ")} == {"AL"}
    return unicodedata.combining(before) == _VIRAMA or (character == _NON_JOINER and is_between_arabic)


def _is_pictograph(character: str) -> bool:
    if not character:
        return False
    return unicodedata.category(character) == "So" or character in _SKIN_TONES or ord(character) in _PICTOGRAPHS


def _chooses_variant(before: str, selector: str, after: str) -> bool:
    """Returns whether the preceding character has variants: symbols, keycaps, ideographs, Mongolian letters."""
    if not before or _is_unseen(before):
        return False
    script = unicodedata.name(before, "").split(" ")[0]
    if selector in "\ufe0e\ufe0f":
        is_symbol = unicodedata.category(before) in {"So", "Sm"} or before in "\u203c\u2049"
        return is_symbol or (before in "#*0123456789" and after == "\u20e3")
    return script == ("MONGOLIAN" if selector < "\u1810" else "CJK")


def _ends_flag(text: str, at: int) -> bool:
    """Returns whether the tag is between a black flag and the end of its tags, as in the flag of Wales."""
    start = len(text[: at + 1].rstrip("".join(_TAGS) + _END_OF_TAGS))
    end = text.find(_END_OF_TAGS, start)
    inner = text[start:end] if end > start else ""
    return text[start - 1 : start] == _BLACK_FLAG and at <= end and bool(inner) and set(inner) <= _TAGS
