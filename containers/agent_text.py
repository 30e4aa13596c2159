"""Makes what agents print safe to show. Agents are untrusted code: terminals and streams must not obey their text."""

import re
import unicodedata

_ESCAPE_SEQUENCES = re.compile(
    r"""
      (?: \x1b\[ | \x9b ) [0-?]*[ -/]*[@-~]?                # CSI: colours, moves of the cursor
    | (?: \x1b[\]PX^_] | [\x90\x98\x9d-\x9f] )             # OSC, DCS, SOS, PM, APC: titles, links, the clipboard,
      [^\x07\x1b\x90-\x9f]* (?: \x07 | \x1b\\ | \x9c )      #   up to their end
    | \x1b[ -/]*[0-~]?                                      # all others
    """,
    re.VERBOSE,
)
"""Terminal control sequences (ECMA-48) in their 7-bit and 8-bit forms. Each alternative matches in linear time."""

_BREAKS = frozenset("\t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029")
_INVISIBLE = (
    *(0x034F, 0x115F, 0x1160, 0x3164, 0xFFA0, 0x17B4, 0x17B5),
    *range(0x180B, 0x1810),
    *range(0xFE00, 0xFE10),
    *range(0xE0100, 0xE01F0),
)
"""Invisible characters that are not in Unicode's categories C (`Default_Ignorable_Code_Point`)."""


_REMEMBERED = 20_000
"""Characters. An agent that prints all of Unicode would otherwise use 90 MB of each process permanently."""


class _Visible(dict[int, str | None]):
    """Maps each character to its replacement, for `str.translate`. It caches up to `_REMEMBERED` characters."""

    def __missing__(self, code_point: int) -> str | None:
        character = chr(code_point)
        if character in _BREAKS:
            shown: str | None = " "
        else:
            shown = None if unicodedata.category(character).startswith("C") else character
        if len(self) < _REMEMBERED:
            self[code_point] = shown
        return shown


_VISIBLE = _Visible(dict.fromkeys(_INVISIBLE))


def clean(text: str) -> str:
    """Returns the text on one line, without escape sequences and invisible characters.

    It removes terminal commands, characters that change the direction of text, and invisible characters between
    letters. Line breaks, carriage returns and tabs become spaces.
    """
    if text.isascii() and text.isprintable():
        return text
    return _ESCAPE_SEQUENCES.sub("", text).translate(_VISIBLE)


def mark_hidden(text: str) -> str:
    """Returns a name in a form that can be shown, in which a sign stands for each character that would be hidden.

    Unlike with `clean`, a name does not become the same as another one.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(each if clean(each) == each else "\ufffd" for each in text)
