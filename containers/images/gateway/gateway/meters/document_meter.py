"""Reads the usage in an answer that is one JSON document. Keeps only the end of a long document."""

import json
import re
from collections.abc import Callable
from typing import Any, cast

from gateway.meters.events import find_error, read_model
from gateway.meters.hidden_output import length_of
from gateway.meters.meter import Meter
from gateway.meters.usage import Usage

MAX_WHOLE_DOCUMENT = 256 * 1024
"""Bytes. A longer document is not read as a whole. Its last `TAIL` bytes are searched for the usage."""
TAIL = 16 * 1024

_USAGE = re.compile(r'"usage"\s*:')
"""A model's text cannot match this, because quotes inside a JSON string are escaped."""
_ANSWERS = ("choices", "content", "output")
"""The names under which a document has the answer."""
_decoder = json.JSONDecoder()


class DocumentMeter(Meter):
    def __init__(self, read: Callable[[object], Usage | None]) -> None:
        self._read = read
        self._kept = bytearray()
        self._is_cut = False
        self._has_content = False

    def feed(self, piece: bytes) -> bytes:
        self._kept += piece
        if len(self._kept) > MAX_WHOLE_DOCUMENT:
            self._is_cut = True
            del self._kept[:-TAIL]
        return piece

    def finish(self) -> bytes:
        try:
            document = self._find_end() if self._is_cut else json.loads(self._kept)
        except (ValueError, RecursionError):
            return b""
        if isinstance(document, dict):
            self.model, self.error = read_model(document), _find_error(document)
            self.usage = self._read(document.get("usage"))
            self._has_content = self._is_cut or length_of([document.get(name) for name in _ANSWERS]) > 0
        return b""

    @property
    def has_content(self) -> bool:
        return self._has_content

    def _find_end(self) -> dict[str, Any]:
        """Returns the end of the document from its own usage on, or {}.

        Other objects may have a usage too, such as those that the agent has sent and the provider repeats. After one in
        the document itself, only the end of the document remains. After any other, more follows the object that has it.
        """
        end, read_to = self._kept[-TAIL:].decode(errors="replace").rstrip(), 0
        for found in _USAGE.finditer(end):
            if found.start() < read_to:
                continue  # in the object that was read last
            rest = "{" + end[found.start() :]
            document, size = _decoder.raw_decode(rest)
            if size == len(rest):
                return cast("dict[str, Any]", document)
            read_to = found.start() + size - 1
        return {}


def _find_error(document: dict[str, Any]) -> dict[str, Any] | None:
    """OpenRouter may put it into the only choice."""
    choices = document.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return find_error(document) or (find_error(first) if isinstance(first, dict) else None)


class BlindMeter(Meter):
    """Passes on answers that report no usage, such as audio."""

    def feed(self, piece: bytes) -> bytes:
        return piece
