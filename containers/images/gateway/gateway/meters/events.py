"""Cuts a stream of server-sent events into its events, wherever its pieces begin and end.

The format is in the HTML standard, "Server-sent events".
"""

import json
import re
from typing import Any

LARGEST = 1024 * 1024
"""Bytes of an event. An image can be large; what is larger is passed on and not read."""

_END = re.compile(rb"\r?\n\r?\n|\r\r")


class Cutter:
    def __init__(self) -> None:
        self._rest = bytearray()
        self.is_lost = False
        """Whether an event was larger than may be kept."""

    def cut(self, piece: bytes) -> list[bytes]:
        """The events that end in this piece, each with its end."""
        begin = max(0, len(self._rest) - 3)
        self._rest += piece
        events, at = [], 0
        while found := _END.search(self._rest, begin):
            events.append(bytes(self._rest[at : found.end()]))
            at = begin = found.end()
        del self._rest[:at]
        if len(self._rest) > LARGEST:
            self.is_lost = True
            events.append(self.take_rest())
        return events

    def take_rest(self) -> bytes:
        """What came after the last event."""
        rest = bytes(self._rest)
        self._rest.clear()
        return rest


def read_event(event: bytes) -> dict[str, Any]:
    """The JSON object that is the event's data, or {}."""
    data = b"\n".join(line[5:] for line in event.splitlines() if line.startswith(b"data:"))
    if b"{" not in data:
        return {}
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
