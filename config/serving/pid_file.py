"""Which process serves: written into the data directory, so that `manage.py reload` finds it."""

import fcntl
import logging
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from config.environment.ownership import open_owned, refuse_file
from config.serving.roles import Role

log = logging.getLogger("berth.serve")


@dataclass(frozen=True, slots=True)
class Serving:
    """A running `serve`. `start` differs for each time that it has begun to serve, and is empty before the first.

    `obstacle` says why it has not handed over when it was last asked to; `refusal` differs for each time.
    """

    pid: int
    start: str
    refusal: str = ""
    obstacle: str = ""


def pid_file() -> Path:
    if not Role(settings.BERTH_ROLE).serves:
        return Path(settings.BERTH_DATA_DIR) / "serve-watcher.pid"
    return Path(settings.BERTH_DATA_DIR) / f"serve-{settings.BERTH_PORT}.pid"


class PidFile:
    """Holds a lock, which ends with the process. A disk that fails after the start is no reason to stop serving."""

    def __init__(self) -> None:
        """Raises `CommandError` if the file cannot be used."""
        self._start = ""
        self._file = open_owned(pid_file())
        fcntl.flock(self._file, fcntl.LOCK_SH)
        if not os.pread(self._file, 1, 0):
            try:
                self._write()
            except OSError as error:
                raise refuse_file(pid_file(), error) from None

    def fileno(self) -> int:
        """The descriptor that holds the lock, also in a fork that has it open."""
        return self._file

    def note_ready(self) -> None:
        self._start = secrets.token_hex(8)
        self._note()

    def note_obstacle(self, obstacle: str) -> None:
        self._note(f"{secrets.token_hex(8)} {' '.join(obstacle.split())}\n")

    def _note(self, more: str = "") -> None:
        try:
            self._write(more)
        except OSError as error:
            log.error("%s `manage.py reload` does not learn what became of it.", refuse_file(pid_file(), error))  # noqa: TRY400 - says it all

    def _write(self, more: str = "") -> None:
        """Overwrites the file before it shortens it: that needs no room on a full disk, and nobody finds it empty."""
        content = f"{os.getpid()} {self._start}\n{more}".encode()
        os.pwrite(self._file, content, 0)
        os.ftruncate(self._file, len(content))


def find_serving() -> Serving | None:
    """Returns the `serve` of this data directory and port, or of its watcher alone. Returns None if there is none.

    Raises `CommandError` if its file cannot be read.
    """
    try:
        with pid_file().open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return _read(file.read())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refuse_file(pid_file(), error) from None
    return None


def _read(content: str) -> Serving | None:
    first, second, *_ = [*content.split("\n"), "", ""]
    pid, _, start = first.strip().partition(" ")
    refusal, _, obstacle = second.strip().partition(" ")
    return Serving(int(pid), start, refusal, obstacle) if pid.isdecimal() else None
