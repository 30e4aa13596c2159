"""The usage in an answer that is one JSON document. Nothing of a long one is kept but its beginning or its end."""

import json
import re
from collections.abc import Callable
from typing import Any

from gateway.meters.events import read_model
from gateway.meters.meter import Meter
from gateway.meters.usage import Usage

KEPT = 256 * 1024
"""Bytes from which a document is no longer read as a whole: only its last `TAIL` ones are searched for the usage."""
TAIL = 16 * 1024

_USAGE = re.compile(rb'"usage"\s*:\s*(?=\{)')
"""Nothing that a model writes looks like this: quotes inside a JSON string are escaped."""


class DocumentMeter(Meter):
    def __init__(self, read: Callable[[object], Usage | None]) -> None:
        self._read = read
        self._kept = bytearray()
        self._is_cut = False

    def see(self, piece: bytes) -> bytes:
        self._kept += piece
        if len(self._kept) > KEPT:
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
    """For what tells no usage, such as sounds."""

    def see(self, piece: bytes) -> bytes:
        return piece
