"""Lays out a table in letters that are all as wide as each other."""

from collections.abc import Sequence
from unicodedata import east_asian_width

BETWEEN = "  "


def lay_out(rows: Sequence[Sequence[str]]) -> str:
    """Each row has as many cells as the others."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    return "\n".join(BETWEEN.join(map(_pad, row, widths)).rstrip() for row in rows)


def _width(text: str) -> int:
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
