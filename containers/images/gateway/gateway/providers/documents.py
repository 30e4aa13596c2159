"""Reads and writes the JSON object that a request is: a large one, as a long talk, in runs. Pure."""

import json
from typing import Any

import orjson

from gateway.providers.runs import DECODER, MARKS, MOST_VALUES, RUN, read_in_runs
from gateway.providers.slices import Slices
from gateway.rules.refusals import RefusedError, Why

IN_ONE_GO = 1024 * 1024
"""Bytes of a request that is read and written at once: some milliseconds."""
COUNTED_AT_A_TIME = 1024 * 1024
_BAD = "The request is no valid JSON."


def read_json(body: bytes) -> Slices[dict[str, Any]]:
    """Raises RefusedError for what is no JSON object, takes too long to read, or is no UTF-8: of an encoding in which a
    text is shorter than in the one that is sent its tokens would be reckoned too low."""
    marks = 0
    for begin in range(0, len(body), COUNTED_AT_A_TIME):
        marks += sum(body.count(each.encode(), begin, begin + COUNTED_AT_A_TIME) for each in MARKS)
        yield
    try:
        if len(body) > IN_ONE_GO or marks > MOST_VALUES:
            return (yield from read_in_runs(body))
        document = DECODER.decode(str(body, "utf-8-sig"))
    except (ValueError, RecursionError):
        raise RefusedError(Why.BAD, _BAD) from None
    if not isinstance(document, dict):
        raise RefusedError(Why.BAD, "The request must be a JSON object.")
    return document


def write_json(document: dict[str, Any], *, in_runs: bool) -> Slices[bytes]:
    """Raises RefusedError."""
    if not in_runs:
        return _dump(document)
    pieces, run = list[bytes](), 0
    for name, value in document.items():
        pieces += [b"," if pieces else b"{", _dump(name), b":"]
        if not isinstance(value, list) or not value:
            pieces.append(_dump(value))
            continue
        for number, each in enumerate(value):
            pieces += [b"," if number else b"[", _dump(each)]
            run += len(pieces[-1])
            if run > RUN:
                run = 0
                yield
        pieces.append(b"]")
    return b"".join([*pieces, b"}"])


def _dump(value: object) -> bytes:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return _dump_slowly(value)


def _dump_slowly(value: object) -> bytes:
    """What has very large numbers, many levels or half of a surrogate pair."""
    try:
        # No longer than it came: only a half is an escape.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")
    except (ValueError, RecursionError):
        raise RefusedError(Why.BAD, "The request cannot be written as JSON.") from None
