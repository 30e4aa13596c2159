"""Files that appear whole or not at all: written under another name, synced, and renamed."""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from config.backup.errors import BackupError
from config.environment.ownership import give_to_owner

DRAFT = ".draft"
"""Suffix of the name of an unfinished file. The name begins with a dot."""


@contextmanager
def whole_file(path: Path, *, for_owner: bool = False) -> Iterator[BinaryIO]:
    """Yields a file with mode 0600 that replaces `path` at the end. If anything fails, `path` stays as it was.

    Overwrites an unfinished file that a killed process has left. With `for_owner` the file belongs to the owner of the
    directory, even if root runs this. Raises `BackupError`.
    """
    try:
        if not path.name or (path.exists() and not path.is_file()):
            raise BackupError(f"{path} is not a file. Name another one.")
        draft = path.with_name(f".{path.name}{DRAFT}")
        with _open(draft) as file, _removed_on_error(draft):
            if for_owner:
                give_to_owner(draft, path.parent)
            yield file
            file.flush()
            os.fsync(file.fileno())
            draft.replace(path)
        sync_directory(path.parent)
    except BrokenPipeError:  # of the output, which reports the progress
        raise
    except OSError as error:
        raise BackupError(why_not_written(path, error)) from None


@contextmanager
def _removed_on_error(draft: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: bytes, *, for_owner: bool = False) -> None:
    """Raises `BackupError`."""
    with whole_file(path, for_owner=for_owner) as file:
        file.write(content)


def remove_drafts(directory: Path, pattern: str) -> None:
    """Removes unfinished files of killed processes whose names match. Skips those that another process is writing."""
    for draft in directory.glob(f".{pattern}{DRAFT}"):
        with suppress(OSError), draft.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            draft.unlink()


def sync_directory(directory: Path) -> None:
    """Makes renames in the directory survive a loss of power."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _open(draft: Path) -> BinaryIO:
    """Opens the draft, empty and locked against other processes. Does not follow a name that
    someone else has prepared.
    """
    descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _require_own(descriptor, draft)
        with _removed_on_error(draft):  # it belongs to this process from here on
            os.fchmod(descriptor, 0o600)
            os.ftruncate(descriptor, 0)
            return os.fdopen(descriptor, "w+b")
    except BaseException:
        with suppress(OSError):
            os.close(descriptor)
        raise


def _require_own(descriptor: int, draft: Path) -> None:
    found = os.fstat(descriptor)
    if (
        not stat.S_ISREG(found.st_mode)
        or found.st_uid not in {os.geteuid(), draft.parent.stat().st_uid}
        or found.st_nlink != 1
    ):
        raise OSError(errno.EEXIST, "another user has a file of this name", str(draft))


def why_not_written(path: Path, error: OSError) -> str:
    if error.errno in {errno.EWOULDBLOCK, errno.EAGAIN}:
        return f"Another process is writing {path} just now. Wait for it, or name another file."
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return (
            f"There is no space left for {path}. Free some, or name a file on another disk; nothing has been changed."
        )
    reason = error.strerror or type(error).__name__
    return f"{path} cannot be written ({reason}). Name a file in a directory that you may write to."
