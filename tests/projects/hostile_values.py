"""A value of every JSON type, and the forms of each that often break programs."""

from typing import Any


def nested(depth: int, kind: type) -> Any:
    """A list or an object inside another, `depth` levels deep."""
    value: Any = "x"
    for _ in range(depth):
        value = [value] if kind is list else {"a": value}
    return value


VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "false": False,
    "zero": 0,
    "int": 5,
    "negative": -1,
    "beyond 64 bits": 2**63,
    "huge int": 10**4000,
    "float": 7.5,
    "whole float": 7.0,
    "minus zero": -0.0,
    "largest float": 1.7e308,
    "smallest float": 5e-324,
    "infinite": float("inf"),
    "minus infinite": float("-inf"),
    "no number": float("nan"),
    "empty": "",
    "text": "openai",
    "text of no provider": "nope",
    "NUL": "a\x00b",
    "half a surrogate pair": "\ud800",
    "line feeds": "a\n\nb\n",
    "carriage return": "a\r\nb",
    "escape": "\x1b[31m",
    "comma": "7,8",
    "equals sign": "AGENT_MODEL=x",
    "bidi": "\u202eabc",
    "beyond the BMP": "🚢" * 60,
    "very long": "x" * 20_000,
    "list": ["@alice"],
    "empty list": [],
    "list of everything": [None, True, 1, 1.5, "x", [], {}],
    "list of lists": [[1], [2]],
    "long list": list(range(1, 3000)),
    "deep list": nested(25, list),
    "too deep list": nested(500, list),
    "dict": {"a": 1},
    "empty dict": {},
    "dict with odd keys": {"": 1, "a.b": 2, "__proto__": 3, "$ref": "#"},
    "dict with NUL": {"a\x00": 1},
    "deep dict": nested(25, dict),
    "too deep dict": nested(500, dict),
}
"""By name. `json.dumps` writes all of them, some in a form that JSON does not have."""

STORABLE = {
    name: value
    for name, value in VALUES.items()
    if name
    not in {"infinite", "minus infinite", "no number", "NUL", "half a surrogate pair", "dict with NUL", "huge int"}
}
"""Values that every database can store in a JSON column."""
