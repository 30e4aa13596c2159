"""The folders in memory in which the processes of a `serve` count. Each user may run several of them.

A killed `serve` leaves its folder. Its next start empties it, and any other start removes it if the kernel's locks show
that no process uses it.
"""

import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.conf import settings

PLACE = "place-"
"""Prefix of the names of the files that the processes lock."""

_held: set[int] = set()
"""Descriptors of the folders that this process has locked."""

PATIENCE = 1.0
"""In seconds."""

_NAME = "berth-metrics-"
_OF_THE_SERVICE = "RUNTIME_DIRECTORY"
"""The variable in which systemd names the folder that it keeps for a running service, in memory."""


def make_folder() -> Path:
    """Returns an empty folder. Its name is the same at each start, so that the next start reuses what a killed process
    left.
    """
    ours = f"{settings.BERTH_DATA_DIR}:{settings.BERTH_PORT}:{os.geteuid()}"
    if settings.BERTH_ROLE == "watcher":  # has no port, and may run next to a web server with the same data directory
        ours += ":watcher"
    folder = _parent() / f"{_NAME}{hashlib.sha256(ours.encode()).hexdigest()[:16]}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not _is_ours(folder):
        raise PermissionError(f"{folder} belongs to another user.")
    for file in folder.iterdir():
        file.unlink()
    return folder


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Locks the folder while the block runs, and removes it at the end. Raises `OSError` if it is locked or gone."""
    held = _wait_for(folder)
    _held.add(held)
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if held in _held:
            _held.remove(held)
            os.close(held)


def _let_go() -> None:
    while _held:
        os.close(_held.pop())


# The web server is a fork of this process. It must not keep the lock when another program replaces this one.
os.register_at_fork(after_in_child=_let_go)


def _wait_for(folder: Path) -> int:
    """Waits for the lock, because another start that sweeps holds it for a moment."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return _lock(folder)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
        time.sleep(0.02)


def sweep_folders() -> None:
    """Removes the folders of this user that no process uses."""
    for folder in _parent().glob(f"{_NAME}*"):
        with suppress(OSError):
            if _is_ours(folder):
                _remove_unless_held(folder)


def _remove_unless_held(folder: Path) -> None:
    """Raises `BlockingIOError` if a process has locked the folder, or a place in it."""
    held = _lock(folder)
    try:
        for place in folder.glob(f"{PLACE}*"):
            os.close(_lock(place))
        shutil.rmtree(folder)
    finally:
        os.close(held)


def _lock(path: Path) -> int:
    """Returns a descriptor that holds the lock until it is closed."""
    held = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(held).st_nlink == 0:
            raise FileNotFoundError(f"{path} was removed.")
    except OSError:
        os.close(held)
        raise
    return held


def _parent() -> Path:
    memory = Path("/dev/shm")  # noqa: S108 - nobody else can take the folder's place, and one of another is refused
    service = os.environ.get(_OF_THE_SERVICE, "").partition(":")[0]
    if service and os.access(service, os.W_OK):
        return Path(service)
    return memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())


def _is_ours(folder: Path) -> bool:
    """Returns whether the folder belongs to this user and nobody else can open it."""
    found = folder.lstat()
    is_private = stat.S_ISDIR(found.st_mode) and not stat.S_IMODE(found.st_mode) & 0o077
    return is_private and found.st_uid == os.geteuid()
