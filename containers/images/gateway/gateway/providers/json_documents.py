"""Reads and writes the JSON object of a request, a large one incrementally. Pure."""

import json
from typing import Any

import orjson

from gateway.providers.incremental_json import DECODER, MAX_VALUES, STEP_SIZE, VALUE_MARKS, read_incrementally
from gateway.providers.time_slices import Slices
from gateway.rules.refusals import RefusedError, Why

MAX_AT_ONCE = 1024 * 1024
"""Bytes. A smaller request is read and written in one go, which takes a few milliseconds."""
BLOCK_SIZE = 1024 * 1024
_BAD = "The request is no valid JSON."


def read_json(body: bytes) -> Slices[dict[str, Any]]:
    """Returns the JSON object. Raises RefusedError if the body is not one, takes too long to read or is not UTF-8.

    In another encoding, the body could be shorter than the one that is sent, so its tokens would be underestimated.
    """
    marks = 0
    for begin in range(0, len(body), BLOCK_SIZE):
        marks += sum(body.count(each.encode(), begin, begin + BLOCK_SIZE) for each in VALUE_MARKS)
        yield
    try:
        if len(body) > MAX_AT_ONCE or marks > MAX_VALUES:
            return (yield from read_incrementally(body))
        document = DECODER.decode(str(body, "utf-8-sig"))
    except (ValueError, RecursionError):
        raise RefusedError(Why.BAD, _BAD) from None
    if not isinstance(document, dict):
        raise RefusedError(Why.BAD, "The request must be a JSON object.")
    return document


def write_json(document: dict[str, Any], *, incrementally: bool) -> Slices[bytes]:
    """Returns the document as JSON. Raises RefusedError if it cannot be written."""
    if not incrementally:
        return _dump(document)
    pieces, step = list[bytes](), 0
    for name, value in document.items():
        pieces += [b"," if pieces else b"{", _dump(name), b":"]
        if not isinstance(value, list) or not value:
            pieces.append(_dump(value))
            continue
        for number, each in enumerate(value):
            pieces += [b"," if number else b"[", _dump(each)]
            step += len(pieces[-1])
            if step > STEP_SIZE:
                step = 0
                yield
        pieces.append(b"]")
    return b"".join([*pieces, b"}"])


def _dump(value: object) -> bytes:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return _dump_slowly(value)


def _dump_slowly(value: object) -> bytes:
    """Writes values that orjson refuses: very large numbers, deep nesting or half a surrogate pair."""
    try:
        # No longer than the received text, because only half surrogate pairs become escapes.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")
    except (ValueError, RecursionError):
        raise RefusedError(Why.BAD, "The request cannot be written as JSON.") from None
