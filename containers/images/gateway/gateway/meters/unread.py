"""What a stream does not show, or not as text that can be read: it is paid for as well."""

import time
from collections.abc import Collection

OF_A_SECOND = 200
"""Tokens that a model thinks while nothing comes, at the most of those that do not show it."""
SHORT = 1.0
"""Seconds between two pieces in which nothing is thought."""
FACTS = frozenset({"role", "type", "id", "tool_call_id", "name", "format", "media_type"})
"""Names of what a model has not written."""


class Silence:
    """For how long nothing came that is written, while a model may have thought."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._seconds = 0.0

    def end(self) -> None:
        now = time.monotonic()
        if now - self._began > SHORT:
            self._seconds += now - self._began
        self._began = now

    def tokens(self) -> int:
        self.end()
        return round(self._seconds * OF_A_SECOND)


def length_of(value: object, *, but: Collection[str] = ()) -> int:
    """Characters of all texts in a part of an event, each of them counted once, without those that were read."""
    found, left = set[str](), [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            found.add(each)
        elif isinstance(each, dict | list):
            left += [value for name, value in each.items() if name not in FACTS] if isinstance(each, dict) else each
    return sum(map(len, found.difference(but)))
