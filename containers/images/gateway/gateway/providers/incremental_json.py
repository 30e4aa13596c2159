"""Parses a JSON object in steps, element by element of its lists, so that no step blocks others for long. Pure."""

import codecs
import json
import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from gateway.providers.time_slices import Slices
from gateway.rules.refusals import RefusedError, Why

STEP_SIZE = 256 * 1024
"""Characters."""
MAX_ELEMENT = 4 * 1024 * 1024
"""Characters. An element is read in one go, which takes about 20 milliseconds at worst."""
MAX_VALUES = 100_000
"""The most values in lists and objects, because more of them, however short, would not fit into memory. Where a
document is read in one go, `VALUE_MARKS` are counted instead, including those in its texts."""
EXPONENT_LOOKAHEAD = 2
"""Characters that may belong to a number although the decoder stops before them: `e-` in `1e-7`."""
VALUE_MARKS = ",[{"
"""Each value in a list or object follows one of these."""
_BLANKS = re.compile(r"[ \t\n\r]*")
_MANY = "The request has too many values."
_LARGE = "One message may have 4 MB of texts that are shorter than 8 kB: send it in several."


def _read_float(text: str) -> float:
    """Returns the number. Raises ValueError if it is too large to be written again."""
    value = float(text)
    if math.isinf(value):
        raise ValueError(text)
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_read_float)


class _Reader:
    """Reads one value after another, and decodes no more of the body than needed. Raises ValueError if invalid."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._given = 0
        self._text = ""
        self._at = 0
        self._step = 0
        self._values = 0

    def value(self) -> Slices[Any]:
        """Returns the next value."""
        yield from self.peek()
        while True:
            try:
                found, end = DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError:
                found, end = None, len(self._text)
                if not self._has_more:
                    raise
            if end < len(self._text) - EXPONENT_LOOKAHEAD or not self._has_more:  # otherwise the value may continue
                break
            self._take_more()
            yield
        self._step += end - self._at
        self._at = end
        self._values += sum(1 for _ in _values_of(found))
        if self._values > MAX_VALUES:
            raise RefusedError(Why.TOO_LARGE, _MANY)
        if self._step > STEP_SIZE:
            self._step = 0
            yield
        return found

    def expect(self, either: str) -> Slices[str]:
        """Consumes and returns the next character, which must be one of these."""
        found = yield from self.peek()
        if not found or found not in either:
            raise ValueError(found)
        self._at += 1
        return found

    def peek(self) -> Slices[str]:
        """Returns the next character without consuming it; empty at the end."""
        while True:
            blanks = _BLANKS.match(self._text, self._at)
            self._at = blanks.end() if blanks else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._has_more:
                return ""
            self._take_more()
            yield

    @property
    def _has_more(self) -> bool:
        return self._given < len(self._body)

    def _take_more(self) -> None:
        """Doubles the text of an incomplete value, so that it is not decoded many times.

        Takes less if the text may have too many values. Raises RefusedError if the value is too large.
        """
        rest = self._text[self._at :]
        marks = sum(map(rest.count, VALUE_MARKS))
        if len(rest) > STEP_SIZE and marks > MAX_VALUES:
            raise RefusedError(Why.TOO_LARGE, _MANY)
        if len(rest) >= MAX_ELEMENT:
            raise RefusedError(Why.TOO_LARGE, _LARGE)
        size = max(STEP_SIZE, min(len(rest), MAX_ELEMENT - len(rest)))
        if (
            marks + sum(self._body.count(each.encode(), self._given, self._given + size) for each in VALUE_MARKS)
            > MAX_VALUES
        ):
            size = STEP_SIZE
        begin, self._given = self._given, min(len(self._body), self._given + size)
        self._text, self._at = rest + self._decode(self._body[begin : self._given], not self._has_more), 0


def _values_of(value: object) -> Iterator[object]:
    left = [value]
    while left:
        each = left.pop()
        yield each
        if isinstance(each, dict | list):
            left += each.values() if isinstance(each, dict) else each


def read_incrementally(body: bytes) -> Slices[dict[str, Any]]:
    """Returns the JSON object. Raises ValueError if the body is not one, and RefusedError if it is too large."""
    reader = _Reader(body)
    document: dict[str, Any] = {}
    yield from reader.expect("{")
    end = ""
    if (yield from reader.peek()) == "}":
        end = yield from reader.expect("}")
    while end != "}":
        name = yield from reader.value()
        if not isinstance(name, str):
            raise ValueError(name)  # noqa: TRY004 - the same error as for any invalid JSON
        yield from reader.expect(":")
        is_list = (yield from reader.peek()) == "["
        document[name] = (yield from _read_list(reader)) if is_list else (yield from reader.value())
        end = yield from reader.expect(",}")
    if (yield from reader.peek()):
        raise ValueError
    return document


def _read_list(reader: _Reader) -> Slices[list[Any]]:
    found: list[Any] = []
    yield from reader.expect("[")
    if (yield from reader.peek()) == "]":
        yield from reader.expect("]")
        return found
    while True:
        found.append((yield from reader.value()))
        if (yield from reader.expect(",]")) == "]":
            return found
