"""Reads JSON from other servers, and refuses values that no well-behaved server sends."""

import gc
import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LONGEST_NUMBER = 40
"""Characters. An integer of 64 bits has at most 20 digits; a float is usually written with at most 24 characters."""

_LONG_NUMBER = b"0" * 19
"""A number with fewer digits fits into 64 bits."""

_ZEROS_FOR_DIGITS = bytes(ord("0") if byte in b"0123456789" else 0 for byte in range(256))
"""A translation after which a number is found five times as fast as a regular expression finds it."""

_LONG_BODY = 1024 * 1024
"""Bytes from which on a document has enough values to make Python's garbage collector look through all of them."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def read_json(body: bytes) -> Any:
    """Returns the value of a JSON document in UTF-8. Raises only `ValueError`.

    It refuses values that a database cannot store or that our own answers cannot carry: infinities, NaN, integers of
    more than 64 bits, and unpaired surrogates. It also refuses nesting that exceeds Python's recursion limit.
    """
    try:
        # An engine's list has thousands of numbers: checking each of them would take time for nothing.
        read_int = _read_int if _LONG_NUMBER in body.translate(_ZEROS_FOR_DIGITS) else int
        with _no_collection(body):
            value = json.loads(body.decode(), parse_constant=_refuse, parse_int=read_int, parse_float=_read_float)
        if _SURROGATE.search(body):
            json.dumps(value, ensure_ascii=False).encode()  # raises for an unpaired surrogate
    except RecursionError:
        raise ValueError("The JSON is nested too deeply.") from None
    return value


@contextmanager
def _no_collection(body: bytes) -> Iterator[None]:
    """Keeps the garbage collector from running while a long document is read.

    Nothing that is being read is garbage, and looking through it again and again takes as long as reading it: the
    longer the document, the more for each value. Only a thread that found the collector on turns it on again, so that
    it is never left off and stays off where someone else turned it off.
    """
    if len(body) < _LONG_BODY or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _refuse(constant: str) -> float:
    message = f"JSON has no {constant}."
    raise ValueError(message)


def _read_int(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER or not -(2**63) <= (number := int(digits)) < 2**64:
        raise ValueError("The JSON holds an integer of more than 64 bits.")
    return number


def _read_float(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError("The JSON holds a number that is too large.")
    return number
