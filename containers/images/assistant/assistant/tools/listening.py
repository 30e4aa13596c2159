"""Finds the answer in what a server of tools sends: a document, or a stream of events without an end. Pure rules."""

import json
import re
from typing import Any

EVENT_END = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")
LONGEST_END = 4  # bytes
BLANK = 1000  # bytes that may stand in front of a document

Answer = dict[str, Any]


class Listener:
    """Waits for the answer with this number. Each event is read once, when its end has come."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._answer: Answer | None = None
        self._event = 0  # where the event begins whose end has not come
        self._looked = 0  # up to where its end was looked for

    def hear(self, content: bytes | bytearray) -> bool:
        """Whether the answer has come. To be called with all that has come so far."""
        if _is_document(content):
            return False
        while self._answer is None and (end := EVENT_END.search(content, self._looked)) is not None:
            self._answer = self._find(_data_of(bytes(content[self._event : end.start()])))
            self._event = self._looked = end.end()
        self._looked = max(self._event, len(content) - LONGEST_END + 1)
        return self._answer is not None

    def finish(self, content: bytes) -> Answer | None:
        """The answer, if there is one in all that has come."""
        if _is_document(content):
            return self._find(content.decode("utf-8", "replace"))
        self.hear(content)
        return self._answer or self._find(_data_of(content[self._event :]))

    def _find(self, written: str) -> Answer | None:
        try:
            found = json.loads(written)
        except (ValueError, RecursionError):
            return None
        for each in found if isinstance(found, list) else [found]:
            if isinstance(each, dict) and each.get("id") == self.number and ("result" in each or "error" in each):
                return each
        return None


def _is_document(content: bytes | bytearray) -> bool:
    return content[:BLANK].lstrip()[:1] in (b"{", b"[")


def _data_of(event: bytes) -> str:
    lines = re.split("\r\n|\n|\r", event.decode("utf-8", "replace"))
    return "\n".join(line[5:].removeprefix(" ") for line in lines if line.startswith("data:"))
