"""Formatted text as Telegram represents it: plain text with spans of formatting. Pure functions."""

import unicodedata
from dataclasses import dataclass
from typing import NamedTuple

MOST_SPANS = 100  # in one message; Telegram ignores further ones
BLANK = "\u2800\u3164\u115f\u1160\uffa0"  # characters in the categories of letters and symbols that are invisible


class Span(NamedTuple):
    """Formats the characters from `start` up to `end`. `value` is the URL of a link or the language of a code block."""

    kind: str
    start: int
    end: int
    value: str = ""


def in_order(span: Span) -> tuple[int, int]:
    return span.start, -span.end


@dataclass(frozen=True)
class Formatted:
    text: str
    spans: tuple[Span, ...] = ()

    @property
    def is_blank(self) -> bool:
        """Whether Telegram would reject the text as empty."""
        return is_blank(self.text)

    def part(self, start: int, end: int) -> "Formatted":
        """Returns the text from `start` up to `end`, with at most as many spans as a message may have."""
        text = self.text[start:end]
        cut = (span._replace(start=max(span.start, start), end=min(span.end, end)) for span in self.spans)
        inside = [
            span._replace(start=span.start - start, end=span.end - start) for span in cut if span.start < span.end
        ]
        kept = sorted(inside, key=lambda span: not span.value)[:MOST_SPANS]  # links are kept first
        return Formatted(text, tuple(sorted(kept, key=in_order)))


def is_blank(text: str) -> bool:
    return all(unicodedata.category(letter)[0] in "ZC" or letter in BLANK for letter in text)


def units(text: str) -> int:
    """Returns the length in UTF-16 code units, which is how Telegram counts."""
    return len(text) + sum(letter > "\uffff" for letter in text)


def clean(text: str) -> str:
    """Returns the text without characters that cannot be sent: unpaired surrogates are replaced, NUL is removed."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "")
