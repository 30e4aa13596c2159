"""Values that clients send by mistake or maliciously: in queries (already quoted), in headers and in bodies."""

from collections.abc import Callable
from typing import Any


def nested(kind: type, depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value] if kind is list else {"a": value}
    return value


IN_QUERIES = [
    "", "%00", "a%00b", "%ff", "%ed%a0%80", "%c0%af", "%zz", "%", "%u0041", "+", "%20", "%0a", "%0d%0aX-A:%201", "%7f",
    "%e2%80%ae",
    "-1", "0", "1", "+1", "1e9", "1_0", "%d9%a3", "9" * 4000, "0" * 4000, "2147483648", "9223372036854775808", "1.5",
    "NaN",
    "null", "true", "[]", "{}", "[object%20Object]", "a" * 4000, "%F0%9F%9A%A2" * 300, "'--", "%25", "*", "..%2f..%2f",
    ",", "," * 4000,
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00%2B14:00", "9999-12-31T23:59:59-14:00",
    "10000-01-01",
    "2026-01-01T00:00:00%2B24:00", "2026-01-01T00:00:00-23:59", "2026-02-30", "2026-01-01T24:00:00Z",
    "2026-01-01T00:00:60Z",
    "0000-00-00", "-0001-01-01T00:00:00Z", "2026-01-01", "99999999999999999999d", "999999999w" * 400, "0s", "1d1d",
    "-5m", "5M",
    "1" * 309, "00000000-0000-0000-0000-000000000000", "p=1&limit=1&limit=2", "x&x", "x;y", "x#y", "1&{name}=1",
    "1&{name}[]=2",
]  # fmt: skip

IN_HEADERS = [
    "", " ", "*", "W/", 'W/"', '"', '""', "x" * 8000, '"x",' * 2000, "é", "\x7f", "\t", "-1", "9" * 4000, "null",
    "%00", ",",
    "00000000-0000-0000-0000-000000000000", "'--", "${jndi:ldap://x}", "{{7*7}}", "\xff", "a, b, c",
]  # fmt: skip

IN_BODIES: list[Callable[[], Any]] = [
    lambda: ["x"] * 10_000,
    lambda: [1] * 20_000,
    lambda: [[]] * 10_000,
    lambda: [{}] * 10_000,
    lambda: [None] * 10_000,
    lambda: {f"n{number}": 1 for number in range(5000)},
    lambda: {"x" * 60_000: 1},
    lambda: {"\ud800": "\udfff", "\x00": "\x00"},
    lambda: "x" * 60_000,
    lambda: "\U0001f6a2" * 5_000,
    lambda: "\ud800" * 5_000,
    lambda: "\x00" * 5_000,
    lambda: "\u202e" * 5_000,
    lambda: "a\n" * 10_000,
    lambda: " " * 60_000,
    lambda: 10**300,
    lambda: -(10**4000),
    lambda: 1e308,
    lambda: 2**63,
    lambda: -1,
    lambda: 0.1,
    lambda: True,
    lambda: None,
    lambda: {"__proto__": {"a": 1}, "constructor": 1},
    lambda: nested(list, 30),
    lambda: nested(dict, 30),
    lambda: nested(list, 900),
    lambda: nested(dict, 900),
    lambda: "x" * 1_000_000,
]
