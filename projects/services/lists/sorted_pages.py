"""Pages of rows that are sorted by a text. A cursor has the place in the order instead of a number of rows to skip, so
that rows added or removed between two requests do not shift others across the edge of a page.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Sequence
from typing import Generic, NamedTuple, Self, TypeVar

Row = TypeVar("Row")
Key = tuple[str, str]


class Position(NamedTuple):
    """A place between two rows: just after the row of `key`, or just before it if `is_before`."""

    sort: str
    is_before: bool
    key: Key

    def spell(self) -> str:
        text = json.dumps([self.sort, self.is_before, *self.key], separators=(",", ":"))
        return urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def read(cls, cursor: str) -> Self | None:
        """Reads a cursor. Returns None if `spell` did not write it."""
        try:
            sent = json.loads(urlsafe_b64decode(f"{cursor}{'=' * (-len(cursor) % 4)}"))
            sort, is_before, key, row_id = sent
        except (Base64Error, ValueError, TypeError, RecursionError):
            return None
        if not (isinstance(is_before, bool) and all(isinstance(each, str) for each in (sort, key, row_id))):
            return None
        found = cls(sort, is_before, (key, row_id))
        return found if found.spell() == cursor else None


class Page(NamedTuple, Generic[Row]):
    """`others` are the names (`next`, `prev`) and positions of the neighbouring pages."""

    rows: Sequence[Row]
    others: Sequence[tuple[str, Position]]


def cut_page(rows: Sequence[tuple[Key, Row]], *, sort: str, position: Position | None, size: int | None) -> Page[Row]:
    """Returns a page of the rows, which are already sorted: in descending order if `sort` begins with a minus."""
    start, end = 0, len(rows)
    if position is not None:
        place = _find(rows, position, turned=sort.startswith("-"))
        start, end = (max(0, place - (size or place)), place) if position.is_before else (place, end)
    end = end if size is None else min(end, start + size)
    others = []
    if start < end < len(rows):
        others.append(("next", Position(sort, is_before=False, key=rows[end - 1][0])))
    if 0 < start < end:
        others.append(("prev", Position(sort, is_before=True, key=rows[start][0])))
    return Page([row for _, row in rows[start:end]], others)


def numbered(rows: Sequence[Row], *, page: int, size: int) -> tuple[Sequence[Row], int, int]:
    """Returns the rows of this page or of the last one, the number of the page, and the number of pages."""
    pages = max(1, -(-len(rows) // size))
    page = min(max(page, 1), pages)
    return rows[(page - 1) * size : page * size], page, pages


def _find(rows: Sequence[tuple[Key, Row]], position: Position, *, turned: bool) -> int:
    """Returns how many rows come before the position."""
    at = position.key
    if position.is_before:
        return sum(key > at if turned else key < at for key, _ in rows)
    return sum(key >= at if turned else key <= at for key, _ in rows)
