"""JSON that no client sends: every type, and values that break parsers, in place of any part of a document."""

import copy
from collections.abc import Iterator
from typing import Any

VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "false": False,
    "zero": 0,
    "negative": -1,
    "one": 1,
    "fraction": 1.5,
    "largest float": 1.7e308,
    "infinity": float("inf"),
    "no number": float("nan"),
    "2^31": 2**31,
    "2^53": 2**53,
    "2^63": 2**63,
    "2^64": 2**64,
    "a thousand digits": 10**1000,
    "empty text": "",
    "text": "a",
    "number as text": "5",
    "surrogate": "a\ud800",
    "other surrogate": "\udfff",
    "nul": "a\x00b",
    "line": "a\r\nX-A: b",
    "bidi": "a\u202eb",
    "separator": "a\u2028b",
    "private": "\ue000",
    "long": "a" * 5000,
    "data": "data:image/png;base64,AAAA",
    "empty list": [],
    "list of nothing": [None],
    "list of lists": [[], [[]]],
    "list of texts": ["a", "\ud800"],
    "list of numbers": [1, 2, 3],
    "empty object": {},
    "object": {"type": [], "a": {"b": {}}},
    "types that are none": {"type": {}, "url": [], "data": 5, "file_id": None},
    "deep": [],
}
for _ in range(200):
    VALUES["deep"] = [VALUES["deep"]]


def spoil(document: Any) -> Iterator[tuple[str, str, Any]]:
    """Yields the document with one change at a time: the place, the name of the new value, and the document."""
    for path in _paths(document):
        for name, value in VALUES.items():
            spoiled = copy.deepcopy(document)
            holder = spoiled
            for step in path[:-1]:
                holder = holder[step]
            holder[path[-1]] = value
            yield ".".join(map(str, path)), name, spoiled


def _paths(document: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    steps = document.items() if isinstance(document, dict) else enumerate(document)
    for step, value in steps:
        yield (*above, step)
        if isinstance(value, dict | list):
            yield from _paths(value, (*above, step))
