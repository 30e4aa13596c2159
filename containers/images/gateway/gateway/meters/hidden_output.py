"""Measures output that costs money but is hidden in a stream, or is not readable text."""

import time
from collections.abc import Collection

REASONING_TOKENS_PER_SECOND = 200
"""The most reasoning tokens that models write per second without showing them."""
SHORTEST_PAUSE = 1.0
"""Seconds between two pieces. A model does not reason in a shorter pause."""
METADATA = frozenset({
    "content_filter_results", "created_at", "event_id", "finish_reason", "format", "id", "item_id", "media_type",
    "model", "name", "native_finish_reason", "obfuscation", "object", "provider", "role", "service_tier", "status",
    "stop_reason", "stop_sequence", "system_fingerprint", "tool_call_id", "type", "usage",
})  # fmt: skip
"""Names of fields that the model has not written."""
ENCODED = frozenset({"b64_json", "data", "encrypted_content", "signature", "url"})
"""Names of fields with audio, images or encrypted reasoning."""


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
    return sum(map(len, texts_in(value).difference(except_for)))


def texts_in(value: object, *, except_in: Collection[str] = METADATA) -> set[str]:
    """Returns the distinct texts in a part of an event, except those under these names."""
    found, left = set[str](), [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            found.add(each)
        elif isinstance(each, dict | list):
            left += [value for name, value in each.items() if name not in except_in] if isinstance(each, dict) else each
    found.discard("")
    return found
