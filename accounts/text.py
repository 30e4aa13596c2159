"""Which characters a text may hold."""

import unicodedata

# Control characters, lone surrogates, line and paragraph separators.
_REFUSED = frozenset({"Cc", "Cs", "Zl", "Zp"})
_LINE_BREAKS = frozenset("\n\r\t")


def has_control_characters(text: str, *, multiline: bool = False) -> bool:
    return any(
        unicodedata.category(character) in _REFUSED and not (multiline and character in _LINE_BREAKS)
        for character in text
    )
