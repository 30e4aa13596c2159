"""Which process serves: written into the data directory, so that `manage.py reload` finds it."""

import fcntl
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from config.serving.roles import Role


@dataclass(frozen=True, slots=True)
class Serving:
    """A running `serve`. `start` differs for each time that it has begun to serve, and is empty before the first."""

    pid: int
    start: str


def pid_file() -> Path:
    if not Role(settings.BERTH_ROLE).serves:
        return Path(settings.BERTH_DATA_DIR) / "serve-watcher.pid"
    return Path(settings.BERTH_DATA_DIR) / f"serve-{settings.BERTH_PORT}.pid"


class PidFile:
    """Holds a lock, which ends with the process."""

    def __init__(self) -> None:
        self._file = os.open(pid_file(), os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_SH)
        if not os.pread(self._file, 1, 0):
            self._write("")

    def fileno(self) -> int:
        """The descriptor that holds the lock, also in a fork that has it open."""
        return self._file

    def note_ready(self) -> None:
        self._write(secrets.token_hex(8))

    def _write(self, start: str) -> None:
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()} {start}\n".encode(), 0)


def find_serving() -> Serving | None:
    """Returns the `serve` of this data directory and port, or of its watcher alone. Returns None if there is none."""
    try:
        with pid_file().open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pid, _, start = file.read().strip().partition(" ")
                return Serving(int(pid), start) if pid.isdecimal() else None
    except FileNotFoundError:
        return None
    return None
