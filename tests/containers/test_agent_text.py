"""Characters that terminals and streams would obey are removed from the text of agents."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from containers import agent_text
from containers.agent_text import clean

HOSTILE = st.text(st.sampled_from("\x1b\x9b\x9d\x90\x07\x9c[]\\;mPX^_0123 ab\r\n\b\u202e\u200b\ud800"), max_size=60)


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;rm -rf /\x07done", "done"),
        ("\x1b]8;;https://evil.example\x1b\\a link\x1b]8;;\x1b\\", "a link"),
        ("\x1b]52;c;cm0gLXJmIC8=\x07copied", "copied"),
        ("\x1bP+q544e\x1b\\asked", "asked"),
        ("\x9b31mred", "red"),
        ("\x1bcreset", "reset"),
        ("\x1b(Bcharset", "charset"),
        ("\x1b]0;a title that never ends", "0;a title that never ends"),
        ("10%\r20%\r30%", "10% 20% 30%"),
        ("data: x\rdata: y", "data: x data: y"),
        ("one\u2028two\x85three\vfour", "one two three four"),
        ("a\tb", "a b"),
        ("safe\u202egnp.exe", "safegnp.exe"),
        ("\x00\x07\x08\x7f", ""),
        ("Zürich · 東京 · 🚢", "Zürich · 東京 · 🚢"),
        ("caf\N{REPLACEMENT CHARACTER}", "caf\N{REPLACEMENT CHARACTER}"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_only_visible_characters_are_left(printed: str, shown: str) -> None:
    assert clean(printed) == shown


def test_no_character_of_unicode_that_is_not_seen_is_left() -> None:
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    left = clean(everything.replace("\x1b", "").replace("\x9b", ""))
    assert {unicodedata.category(character)[0] for character in left}.isdisjoint("C")
    assert left.splitlines() == [left]


@given(HOSTILE)
def test_nested_control_sequences_are_removed_completely(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert cleaned.isprintable()


@pytest.mark.parametrize("begun", ["\x1b]", "\x9d", "\x1bP", "\x90", "\x1b[", "\x9b", "\x1b[0", "\x1b\x1b]", "\x1b "])
def test_a_long_line_of_sequences_that_never_end_is_read_once(begun: str) -> None:
    assert clean(begun * 200_000 + "x").isprintable()


def test_all_of_unicode_is_not_remembered() -> None:
    """Any agent may print it, and the processes that show its log would keep 90 MB for it."""
    for begin in range(0, sys.maxunicode, 4096):
        clean("".join(map(chr, range(begin, begin + 4096))))
    assert len(agent_text._VISIBLE) <= agent_text._REMEMBERED
    assert clean("Zürich · 東京 · 🚢\u202e") == "Zürich · 東京 · 🚢"
