"""Finds the answer in an MCP server's response: a JSON document, or an event stream without end. Pure functions."""

import json
import re
from typing import Any

EVENT_END = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")
LONGEST_EVENT_END = 4  # bytes
LONGEST_BLANK = 1000  # bytes of blanks that may come before a document

Answer = dict[str, Any]


class AnswerReader:
    """Finds the answer with this JSON-RPC id. Parses each event only once, when it is complete."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._answer: Answer | None = None
        self._event_start = 0  # start of the first incomplete event
        self._searched_to = 0  # position up to which its end was searched

    def feed(self, content: bytes | bytearray) -> bool:
        """Takes all content received so far, and returns whether the answer is complete."""
        if _is_document(content):
            return False
        while self._answer is None and (end := EVENT_END.search(content, self._searched_to)) is not None:
            self._answer = self._find(_data_of(bytes(content[self._event_start : end.start()])))
            self._event_start = self._searched_to = end.end()
        self._searched_to = max(self._event_start, len(content) - LONGEST_EVENT_END + 1)
        return self._answer is not None

    def finish(self, content: bytes) -> Answer | None:
        """Takes the complete content, and returns the answer or None."""
        if _is_document(content):
            return self._find(content.decode("utf-8", "replace"))
        self.feed(content)
        return self._answer or self._find(_data_of(content[self._event_start :]))

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
    return content[:LONGEST_BLANK].lstrip()[:1] in (b"{", b"[")


def _data_of(event: bytes) -> str:
    lines = re.split("\r\n|\n|\r", event.decode("utf-8", "replace"))
    return "\n".join(line[5:].removeprefix(" ") for line in lines if line.startswith("data:"))
