"""Faults of SQLite: another process has locked the file, or the disk is full. Needs a separate mount namespace."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.chaos.memory_disk import MemoryDisk

SIZE = "24m"


class SmallDisk(MemoryDisk):
    """A small disk with the data directory."""

    def __init__(self, home: Path) -> None:
        super().__init__(home / "var", SIZE)

    def connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path / "berth.sqlite3", isolation_level=None, timeout=60)

    def read_heartbeat(self) -> Any:
        with contextlib.closing(self.connect()) as connection:
            found = connection.execute(
                "SELECT heartbeat_at FROM projects_watch WHERE instance = 'chaos-watcher'"
            ).fetchone()
        return found and found[0]


@contextmanager
def locked(disk: SmallDisk) -> Iterator[None]:
    """Others can read."""
    with contextlib.closing(disk.connect()) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.rollback()


SQLITE_FAULTS: Mapping[str, Callable[[SmallDisk], Any]] = {"SQLite locked": locked, "SQLite full": SmallDisk.full}
