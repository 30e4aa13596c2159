"""Splits a stream of server-sent events into events, no matter where its pieces begin and end.

The format is in the HTML standard, "Server-sent events".
"""

import json
import re
from codecs import BOM_UTF8
from typing import Any

import orjson

MAX_EVENT = 1024 * 1024
"""The most bytes of an event. An image can be large; a larger event is passed on without being read."""

LONGEST_MODEL = 200
"""Characters, as in a request. A longer name would be compared with patterns for minutes, and remembered."""

END_OF_STREAM = "[DONE]"
"""The data of the last event."""

_FIELDS = (b":", b"data", b"event", b"id", b"retry")
"""How lines begin: comments and the fields of an event."""
_BLANKS = b" \t\r\n"
_decoder = json.JSONDecoder()
"""Like `json.loads`, but without guessing the encoding, which the format defines."""

_ESCAPE = b"\\u00"
"""Begins the escape of an ASCII character in JSON, so that a name need not appear as it is."""

_END = re.compile(rb"\r?\n\r?\n|\r\r")


class EventSplitter:
    def __init__(self) -> None:
        self._rest = bytearray()
        self.has_dropped = False
        """Whether an event was too large to be kept."""

    def split(self, piece: bytes) -> list[bytes]:
        """Returns the events that end in this piece, each with its end."""
        if not self._rest and piece.endswith(b"\n\n") and b"\r" not in piece and b"\n\n\n" not in piece:
            # The fast path for nearly every piece, because searching for the ends one by one takes longer than reading
            # events.
            return [each + b"\n\n" for each in piece[:-2].split(b"\n\n")]
        begin = max(0, len(self._rest) - 3)
        self._rest += piece
        events, at = [], 0
        while found := _END.search(self._rest, begin):
            events.append(bytes(self._rest[at : found.end()]))
            at = begin = found.end()
        del self._rest[:at]
        if len(self._rest) > MAX_EVENT:
            self.has_dropped = True
            events.append(self.take_rest())
        return events

    @property
    def pending_size(self) -> int:
        """Returns the bytes kept of an incomplete event."""
        return len(self._rest)

    def take_rest(self) -> bytes:
        """Returns the bytes after the last event."""
        rest = bytes(self._rest)
        self._rest.clear()
        return rest


def may_report_usage(piece: bytes) -> bool:
    """Whether an event of the piece may report a usage. Many providers send `"usage": null` with every event."""
    at = piece.find(b"usage")
    if at < 0:
        return _ESCAPE in piece
    return not piece.startswith((b'":null', b'": null'), at + 5) or b"usage" in piece[at + 5 :] or _ESCAPE in piece


def read_only_event(piece: bytes) -> dict[str, Any] | None:
    """Returns the JSON object of a piece that is one event with one line of data, as nearly every piece is. Returns
    None for any other piece, which the slower functions read.
    """
    begin = piece.find(b"\n") + 1 if piece.startswith(b"event: ") else 0
    if not (piece.startswith(b"data: {", begin) and piece.endswith(b"}\n\n")):
        return None
    if piece.count(b"\n", begin) > 2 or b"\r" in piece:
        return None
    try:
        document: dict[str, Any] = orjson.loads(piece[begin + 6 : -2])
    except orjson.JSONDecodeError:
        return None
    return document


def read_event(event: bytes) -> dict[str, Any]:
    """Returns the JSON object in the event's data, or {}."""
    document = _parse(_text_of(event))
    return document if isinstance(document, dict) else {}


def read_other_data(event: bytes) -> object:
    """Returns the data of an event that has no JSON object: another JSON value, or text. Returns None for the data that
    ends a stream. Without data, the lines count that the format does not know, because some servers send only JSON."""
    text = _text_of(event) or b"\n".join(_unknown_lines(event)).decode(errors="replace")
    if text == END_OF_STREAM:
        return None
    document = _parse(text)
    return text if document is None else document


def _unknown_lines(event: bytes) -> list[bytes]:
    lines = event.removeprefix(BOM_UTF8).splitlines()
    return [line for line in lines if line and not line.startswith(_FIELDS)]


def _parse(text: str) -> object:
    try:
        document, end = _decoder.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return document if end == len(text) else None


def _text_of(event: bytes) -> str:
    """Returns the event's data. The format says that invalid UTF-8 is replaced."""
    return _data_of(event.rstrip(_BLANKS)).strip(_BLANKS).decode(errors="replace")


def _data_of(event: bytes) -> bytes:
    """Returns the event's lines of data. Most events have one such line and nothing else."""
    if event.startswith(b"data:") and b"\n" not in event and b"\r" not in event:
        return event[5:]
    lines = event.removeprefix(BOM_UTF8).splitlines()  # a stream may begin with a mark of its encoding
    return b"\n".join([line[5:] for line in lines if line.startswith(b"data:")])


def find_error(document: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the object that has an error instead of an answer, or instead of the rest of one. vLLM marks it by
    `object`.
    """
    if document.get("error") or document.get("type") == "error" or document.get("object") == "error":
        return document
    if document.get("type") == "response.failed" and isinstance(failed := document.get("response"), dict):
        return failed
    return None


def read_model(document: dict[str, Any]) -> str:
    """Returns the model named in an answer or an event, no longer than a real name; empty if it names none."""
    if isinstance(named := document.get("model"), str):
        return named[:LONGEST_MODEL]
    for name in ("response", "message"):
        if isinstance(holder := document.get(name), dict) and isinstance(named := holder.get("model"), str):
            return named[:LONGEST_MODEL]
    return ""
