"""Reads JSON from other servers, and refuses values that no well-behaved server sends."""

import json
import math
import re
from typing import Any

_LONGEST_NUMBER = 40
"""Characters. An integer of 64 bits has at most 20 digits; a float is usually written with at most 24 characters."""

_LONG_NUMBER = re.compile(rb"[0-9]{19}")
"""A number with fewer digits fits into 64 bits."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def read_json(body: bytes) -> Any:
    """Returns the value of a JSON document in UTF-8. Raises only `ValueError`.

    It refuses values that a database cannot store or that our own answers cannot carry: infinities, NaN, integers of
    more than 64 bits, and unpaired surrogates. It also refuses nesting that exceeds Python's recursion limit.
    """
    try:
        # An engine's list has thousands of numbers: checking each of them would take time for nothing.
        read_int = _read_int if _LONG_NUMBER.search(body) else int
        value = json.loads(body.decode(), parse_constant=_refuse, parse_int=read_int, parse_float=_read_float)
        if _SURROGATE.search(body):
            json.dumps(value, ensure_ascii=False).encode()  # raises for an unpaired surrogate
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
