"""The first rows of what may be many, for a page that names them."""

from collections.abc import Iterable
from typing import TypeVar

Row = TypeVar("Row")

MOST_SHOWN = 20
"""The maximum number of rows that a page names of a kind."""


class FirstRows(list[Row]):
    """`more` is the number of rows that are left out."""

    def __init__(self, rows: Iterable[Row]) -> None:
        found = list(rows)
        super().__init__(found[:MOST_SHOWN])
        self.more = len(found) - len(self)
