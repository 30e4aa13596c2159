"""Lays out a table in letters that are all as wide as each other."""

from collections.abc import Sequence
from itertools import dropwhile
from unicodedata import east_asian_width

BETWEEN = "  "
UNALIGNED = " | "
WIDEST = 100
"""Letters in a line, above which no screen shows columns below each other."""
SMALL = 4000
"""Letters; a table of no more fits one message, however much of it is blank."""


def lay_out(rows: Sequence[Sequence[str]]) -> str:
    """Each row has as many cells as the others. What would be too wide, or mostly blank, is not aligned."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    line = sum(widths) + len(BETWEEN) * len(widths)
    said = sum(len(cell) for row in rows for cell in row)
    if line > WIDEST or line * len(rows) > max(2 * said, SMALL):
        return "\n".join(UNALIGNED.join(_without_empty_end(row)).rstrip() for row in rows)
    return "\n".join(BETWEEN.join(map(_pad, row, widths)).rstrip() for row in rows)


def _without_empty_end(row: Sequence[str]) -> list[str]:
    """A row that is shorter than others was filled up."""
    return [*dropwhile(lambda cell: not cell, reversed(row))][::-1]


def _width(text: str) -> int:
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
