"""The folders in memory where the processes of each `serve` of this user count.

A `serve` that was killed leaves its folder. The next start of the same one empties it, and any other takes it away: by
the kernel's locks it is seen that nobody is at work there.
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
"""What the names of the files begin with that the processes hold."""

_held: set[int] = set()
"""Descriptors of the folders that this process holds."""

PATIENCE = 1.0
"""Seconds."""

_NAME = "berth-metrics-"
_OF_THE_SERVICE = "RUNTIME_DIRECTORY"
"""Where systemd says which folder it keeps for a service, in memory, for as long as that runs."""


def make_folder() -> Path:
    """An empty one. Its name is the same at each start, so that what a killed one has left is taken away."""
    ours = f"{settings.BERTH_DATA_DIR}:{settings.BERTH_PORT}:{os.geteuid()}"
    if settings.BERTH_ROLE == "watcher":  # it has no port, and may run beside a web server of this folder
        ours += ":watcher"
    folder = _parent() / f"{_NAME}{hashlib.sha256(ours.encode()).hexdigest()[:16]}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not _is_ours(folder):
        raise PermissionError(f"{folder} is somebody else's.")
    for file in folder.iterdir():
        file.unlink()
    return folder


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """For as long as it serves, and then takes it away. Raises `OSError` where it is held or gone."""
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


# A copy of the process, as the web server is, lives on beside the program that takes this one's place at a hand-over.
os.register_at_fork(after_in_child=_let_go)


def _wait_for(folder: Path) -> int:
    """Who sweeps holds it for a moment."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return _lock(folder)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
        time.sleep(0.02)


def sweep_folders() -> None:
    """Takes away those of this user in which nobody is at work."""
    for folder in _parent().glob(f"{_NAME}*"):
        with suppress(OSError):
            if _is_ours(folder):
                _remove_unless_held(folder)


def _remove_unless_held(folder: Path) -> None:
    """Raises `BlockingIOError` where somebody holds it, or a place in it."""
    held = _lock(folder)
    try:
        for place in folder.glob(f"{PLACE}*"):
            os.close(_lock(place))
        shutil.rmtree(folder)
    finally:
        os.close(held)


def _lock(path: Path) -> int:
    """Until what it returns is closed."""
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
    """And nobody else may look into it."""
    found = folder.lstat()
    is_private = stat.S_ISDIR(found.st_mode) and not stat.S_IMODE(found.st_mode) & 0o077
    return is_private and found.st_uid == os.geteuid()
