"""Checks for JSON values. A check returns None if the value is allowed, or the path of the part that is not."""

import re
from collections.abc import Callable, Collection, Mapping

Check = Callable[[object], str | None]
HERE = ""


def exactly(*allowed: object) -> Check:
    """Accepts one of these values, of the same type: true is not 1."""

    def check(value: object) -> str | None:
        return None if any(type(value) is type(each) and value == each for each in allowed) else HERE

    return check


_FLAGS = (True, False)
ON, OFF, ANY_FLAG = exactly(*_FLAGS[:1]), exactly(*_FLAGS[1:]), exactly(*_FLAGS)


def either(one: Check, other: Check) -> Check:
    return lambda value: None if one(value) is None or other(value) is None else HERE


def whole(low: int, high: int) -> Check:
    return lambda value: None if type(value) is int and low <= value <= high else HERE


def text(pattern: str) -> Check:
    """Accepts a text that the pattern matches as a whole."""
    compiled = re.compile(pattern, re.ASCII)
    return lambda value: None if isinstance(value, str) and compiled.fullmatch(value) else HERE


def anything(longest: int) -> Check:
    """Accepts any text up to this length, even an empty one."""
    return lambda value: None if isinstance(value, str) and len(value) <= longest else HERE


def items(each: Check, *, most: int) -> Check:
    def check(value: object) -> str | None:
        if not isinstance(value, list) or len(value) > most:
            return HERE
        return next(
            (f"[{place}]{inner}" for place, item in enumerate(value) if (inner := each(item)) is not None), None
        )

    return check


def mapping(name: str, each: Check, *, most: int) -> Check:
    """Accepts an object whose keys match this pattern."""
    named = text(name)

    def check(value: object) -> str | None:
        if not isinstance(value, dict) or len(value) > most:
            return HERE
        wrong = (f".{key}" for key, item in value.items() if named(key) is not None or each(item) is not None)
        return next(wrong, None)

    return check


def fields(shape: Mapping[str, Check], *, required: Collection[str] = ()) -> Check:
    """Accepts an object with these fields and no others, each checked by its own check.

    The engine ignores the case of names, but here a name in another case is an unknown field and therefore refused.
    """

    def check(value: object) -> str | None:
        if not isinstance(value, dict):
            return HERE
        for name in (*value, *required):
            if name not in shape or name not in value:
                return f".{name}"
            if (inner := shape[name](value[name])) is not None:
                return f".{name}{inner}"
        return None

    return check
