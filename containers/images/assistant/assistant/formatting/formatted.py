"""A text with its formatting, as Telegram has it: spans over plain text. Pure rules."""

import unicodedata
from dataclasses import dataclass
from typing import NamedTuple

MOST_SPANS = 100  # Telegram passes over what a message has beyond these
BLANK = "\u2800\u3164\u115f\u1160\uffa0"  # letters by their category, and nothing to see


class Span(NamedTuple):
    """From `start` to before `end`, in characters. `value`: the address of a link, or the language of a program."""

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
        """Whether Telegram would call it empty."""
        return is_blank(self.text)

    def part(self, start: int, end: int) -> "Formatted":
        """What stands between two places, with as much formatting as a message may have."""
        text = self.text[start:end]
        cut = (span._replace(start=max(span.start, start), end=min(span.end, end)) for span in self.spans)
        inside = [
            span._replace(start=span.start - start, end=span.end - start) for span in cut if span.start < span.end
        ]
        kept = sorted(inside, key=lambda span: not span.value)[:MOST_SPANS]  # looks rather than addresses go
        return Formatted(text, tuple(sorted(kept, key=in_order)))


def is_blank(text: str) -> bool:
    return all(unicodedata.category(letter)[0] in "ZC" or letter in BLANK for letter in text)


def units(text: str) -> int:
    """UTF-16 code units, which is how Telegram counts."""
    return len(text) + sum(letter > "\uffff" for letter in text)


def clean(text: str) -> str:
    """The text without what cannot be sent: half surrogate pairs and NUL."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "")
