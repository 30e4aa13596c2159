"""Faults of SQLite: another process has the file, or the disk is full. Needs a mount namespace of its own."""

import contextlib
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SIZE = "24m"


class SmallDisk:
    """A file system in memory that holds the data directory and is soon full."""

    def __init__(self, home: Path) -> None:
        self.path = home / "var"
        self.path.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "none", str(self.path)], check=True)

    def close(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.path)], check=True)

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


@contextmanager
def full(disk: SmallDisk) -> Iterator[None]:
    filling = disk.path / "filling"
    with filling.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    try:
        yield
    finally:
        filling.unlink()


SQLITE_FAULTS: Mapping[str, Callable[[SmallDisk], Any]] = {"SQLite locked": locked, "SQLite full": full}
