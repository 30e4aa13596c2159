"""The database of the first site that a process prepares, to be copied,
because creating one takes seconds of processor time."""

import sqlite3
from contextlib import closing
from pathlib import Path

_made: list[tuple[str, bytes]] = []
"""Alice's key and the file, as `tests.chaos.inside.prepare` has left it."""


def keep(data: Path, key: str) -> None:
    _made.append((key, (data / "berth.sqlite3").read_bytes()))


def copy(data: Path, *, image: str) -> str:
    """Returns the key, or an empty text if there is no first site yet. The stub gets this image."""
    if not _made:
        return ""
    key, content = _made[0]
    data.mkdir(mode=0o700, exist_ok=True)
    (data / "berth.sqlite3").write_bytes(content)
    with closing(sqlite3.connect(data / "berth.sqlite3")) as connection, connection:
        connection.execute("UPDATE projects_agenttype SET image = ? WHERE slug = 'stub'", [image])
    return key
