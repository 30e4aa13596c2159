"""Reads the usage in an answer that is one JSON document. Keeps only the end of a long document."""

import json
import re
from collections.abc import Callable
from typing import Any

from gateway.meters.events import read_model
from gateway.meters.meter import Meter
from gateway.meters.usage import Usage

MAX_WHOLE_DOCUMENT = 256 * 1024
"""Bytes. A longer document is not read as a whole. Its last `TAIL` bytes are searched for the usage."""
TAIL = 16 * 1024

_USAGE = re.compile(rb'"usage"\s*:\s*(?=\{)')
"""A model's text cannot match this, because quotes inside a JSON string are escaped."""


class DocumentMeter(Meter):
    def __init__(self, read: Callable[[object], Usage | None]) -> None:
        self._read = read
        self._kept = bytearray()
        self._is_cut = False

    def feed(self, piece: bytes) -> bytes:
        self._kept += piece
        if len(self._kept) > MAX_WHOLE_DOCUMENT:
            self._is_cut = True
            del self._kept[:-TAIL]
        return piece

    def finish(self) -> bytes:
        self.usage = self._read(self._find())
        return b""

    def _find(self) -> Any:
        try:
            if not self._is_cut:
                document = json.loads(self._kept)
                if not isinstance(document, dict):
                    return None
                self.model = read_model(document)
                return document.get("usage")
            found = list(_USAGE.finditer(self._kept))
            text = self._kept[found[-1].end() :].decode(errors="replace") if found else "null"
            return json.JSONDecoder().raw_decode(text)[0]
        except (ValueError, RecursionError):
            return None


class BlindMeter(Meter):
    """Passes on answers that report no usage, such as audio."""

    def feed(self, piece: bytes) -> bytes:
        return piece
