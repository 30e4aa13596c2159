"""Lays out a table as text in a monospaced font."""

from collections.abc import Sequence
from itertools import dropwhile
from unicodedata import east_asian_width

BETWEEN = "  "
UNALIGNED = " | "
WIDEST = 100
"""Characters in a line. Clients wrap longer lines, so columns would not be aligned."""
SMALL = 4000
"""Characters. A table up to this size fits into one message, even if most of it is padding."""


def lay_out(rows: Sequence[Sequence[str]]) -> str:
    """Returns the table as lines. All rows must have the same number of cells. Does not align the columns if that would
    make the table too wide or mostly blank.
    """
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    line = sum(widths) + len(BETWEEN) * len(widths)
    letters = sum(len(cell) for row in rows for cell in row)
    if line > WIDEST or line * len(rows) > max(2 * letters, SMALL):
        return "\n".join(UNALIGNED.join(_without_padding(row)).rstrip() for row in rows)
    return "\n".join(BETWEEN.join(map(_pad, row, widths)).rstrip() for row in rows)


def _without_padding(row: Sequence[str]) -> list[str]:
    """Drops the empty cells at the end, with which the parser fills up short rows."""
    return [*dropwhile(lambda cell: not cell, reversed(row))][::-1]


def _width(text: str) -> int:
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
