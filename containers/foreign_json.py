"""Reads JSON that another server sent, and refuses what no honest server sends."""

import json
import math
import re
from typing import Any

_LONGEST_NUMBER = 40
"""Digits. A number of 64 bits has 20, and a float as it is usually written at most 24 characters."""

_LONG_NUMBER = re.compile(rb"[0-9]{19}")
"""What has fewer digits has less than 64 bits."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def read_json(body: bytes) -> Any:
    """The value of a JSON document in UTF-8. Raises `ValueError` and nothing else.

    A database could not store, or an answer of our own not carry: infinities, NaN, integers of more than 64 bits, and
    halves of surrogate pairs. Deep nesting ends the recursion of every reader.
    """
    try:
        # An engine's list has thousands of numbers, each of which would be looked at for nothing.
        read_int = _read_int if _LONG_NUMBER.search(body) else int
        value = json.loads(body.decode(), parse_constant=_refuse, parse_int=read_int, parse_float=_read_float)
        if _SURROGATE.search(body):
            json.dumps(value, ensure_ascii=False).encode()  # raises for a half pair
    except RecursionError:
        raise ValueError("The JSON is nested too deeply.") from None
    return value


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
