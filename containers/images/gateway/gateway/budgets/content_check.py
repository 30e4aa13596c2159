"""Tells whether rows of the usage file have values that are never written: damage that SQLite does not notice."""

import sqlite3

MOST = 2**62
LAST_HOUR = 2**22
"""In the year 2448."""
_COLUMNS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "reservations": (("project", "model"), ("id", "hour", "input", "output", "money"), ()),
    "advances": (("project",), ("hour",), ("tokens", "money")),
    "usage": (
        ("project", "model"),
        ("hour", "messages", "requests", "errors", "estimated", "input", "output", "cached", "money", "seq"), (),
    ),
    "sizes": (("project",), ("hour", "tokens", "money"), ()),
    "openings": ((), ("before", "first"), ()),
    "refusals": (("project", "fact"), (), ()),
    "meta": (("name", "value"), (), ()),
}  # fmt: skip
"""Of each table: columns of text, of numbers from 0, and of numbers that can be negative."""
_OTHERS = (
    "refusals WHERE typeof(at) <> 'real'",
    "meta WHERE name IN ('seq', 'read') AND (value = '' OR length(value) > 19 OR value GLOB '*[^0-9]*')",
    "meta WHERE name = 'store' AND NOT EXISTS (SELECT 1 FROM meta WHERE name = 'seq')",
)


def _conditions() -> list[str]:
    found = []
    for table, (texts, counts, changes) in _COLUMNS.items():
        wrong = [f"typeof({name}) <> 'text'" for name in texts]
        wrong += [f"typeof({name}) <> 'integer'" for name in counts + changes]
        wrong += [f"{name} NOT BETWEEN 0 AND {LAST_HOUR if name == 'hour' else MOST}" for name in counts]
        wrong += [f"abs({name}) > {MOST}" for name in changes]
        found.append(f"{table} WHERE {' OR '.join(wrong)}")
    return [*found, *_OTHERS]


_ANY = " UNION ALL ".join(map("SELECT 1 FROM {}".format, _conditions()))  # nosec B608 - names and numbers of this module


def has_nonsense(connection: sqlite3.Connection) -> bool:
    """Reads all rows. Raises sqlite3.Error."""
    return connection.execute(f"{_ANY} LIMIT 1").fetchone() is not None
