"""Reads a JSON object in runs, element by element of its lists, so that no run keeps others waiting. Pure."""

import codecs
import json
import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from gateway.providers.slices import Slices
from gateway.rules.refusals import RefusedError, Why

RUN = 256 * 1024
MOST_OF_ONE = 4 * 1024 * 1024
"""Characters of one element, which is read at once: some 20 milliseconds at the worst."""
MOST_VALUES = 100_000
"""In lists and objects: of more, however short, there would be no room in memory. In what is read at once commas and
brackets are counted instead, also those in its texts."""
OF_AN_EXPONENT = 2
"""Characters of a number that are not read as its own until there are digits behind them: of 1e-7."""
MARKS = ",[{"
_BLANKS = re.compile(r"[ \t\n\r]*")
_MANY = "The request has too many values."
_LARGE = "One message may have 4 MB of texts that are shorter than 8 kB: send it in several."


def _read_float(text: str) -> float:
    """Raises ValueError for one that is too large to be written again."""
    value = float(text)
    if math.isinf(value):
        raise ValueError(text)
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_read_float)


class _Reader:
    """Reads one value after the other, and no more at a time than it needs. Raises ValueError for what is no JSON."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._given = 0
        self._text = ""
        self._at = 0
        self._run = 0
        self._values = 0

    def value(self) -> Slices[Any]:
        """The next one."""
        yield from self.peek()
        while True:
            try:
                found, end = DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError:
                found, end = None, len(self._text)
                if not self._has_more:
                    raise
            if end < len(self._text) - OF_AN_EXPONENT or not self._has_more:  # else there may be more of it
                break
            self._take_more()
            yield
        self._run += end - self._at
        self._at = end
        self._values += sum(1 for _ in _values_of(found))
        if self._values > MOST_VALUES:
            raise RefusedError(Why.TOO_LARGE, _MANY)
        if self._run > RUN:
            self._run = 0
            yield
        return found

    def expect(self, either: str) -> Slices[str]:
        """The sign that comes next, which is one of these."""
        found = yield from self.peek()
        if not found or found not in either:
            raise ValueError(found)
        self._at += 1
        return found

    def peek(self) -> Slices[str]:
        """The sign that comes next; empty at the end."""
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
        """As much again as there is of what has begun, so that nothing is read many times; less of what may have too
        many values."""
        rest = self._text[self._at :]
        marks = sum(map(rest.count, MARKS))
        if len(rest) > RUN and marks > MOST_VALUES:
            raise RefusedError(Why.TOO_LARGE, _MANY)
        if len(rest) >= MOST_OF_ONE:
            raise RefusedError(Why.TOO_LARGE, _LARGE)
        size = max(RUN, min(len(rest), MOST_OF_ONE - len(rest)))
        if (
            marks + sum(self._body.count(each.encode(), self._given, self._given + size) for each in MARKS)
            > MOST_VALUES
        ):
            size = RUN
        begin, self._given = self._given, min(len(self._body), self._given + size)
        self._text, self._at = rest + self._decode(self._body[begin : self._given], not self._has_more), 0


def _values_of(value: object) -> Iterator[object]:
    left = [value]
    while left:
        each = left.pop()
        yield each
        if isinstance(each, dict | list):
            left += each.values() if isinstance(each, dict) else each


def read_in_runs(body: bytes) -> Slices[dict[str, Any]]:
    """Raises RefusedError and ValueError, as the decoder does."""
    reader = _Reader(body)
    document: dict[str, Any] = {}
    yield from reader.expect("{")
    end = ""
    if (yield from reader.peek()) == "}":
        end = yield from reader.expect("}")
    while end != "}":
        name = yield from reader.value()
        if not isinstance(name, str):
            raise ValueError(name)  # noqa: TRY004 - as all that is no JSON
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
