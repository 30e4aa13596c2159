"""Measures output that costs money but is hidden in a stream, or is not readable text."""

import time
from collections.abc import Collection

REASONING_TOKENS_PER_SECOND = 200
"""The most reasoning tokens that models write per second without showing them."""
SHORTEST_PAUSE = 1.0
"""Seconds between two pieces. A model does not reason in a shorter pause."""
METADATA = frozenset({
    "content_filter_results", "created_at", "finish_reason", "format", "id", "media_type", "model", "name",
    "native_finish_reason", "object", "provider", "role", "status", "stop_reason", "stop_sequence",
    "system_fingerprint", "service_tier", "tool_call_id", "type",
})  # fmt: skip
"""Names of fields that the model has not written."""


class HiddenReasoning:
    """Measures the pauses in a stream, in which the model may have reasoned."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._seconds = 0.0

    def end(self) -> None:
        now = time.monotonic()
        if now - self._began > SHORTEST_PAUSE:
            self._seconds += now - self._began
        self._began = now

    def tokens(self) -> int:
        self.end()
        return round(self._seconds * REASONING_TOKENS_PER_SECOND)


def length_of(value: object, *, except_for: Collection[str] = ()) -> int:
    """Returns the total number of characters of the distinct texts in a part of an event.

    Does not count texts in `except_for`, which were already counted, or metadata.
    """
    found, left = set[str](), [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            found.add(each)
        elif isinstance(each, dict | list):
            left += [value for name, value in each.items() if name not in METADATA] if isinstance(each, dict) else each
    return sum(map(len, found.difference(except_for)))
