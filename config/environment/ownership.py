"""Files of the data directory belong to its owner, no matter which user creates them."""

import errno
import os
from pathlib import Path

from django.core.management.base import CommandError

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT}
_IN_THE_WAY = {errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ELOOP}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
LIMITS = {
    errno.EFBIG: "Raise this shell's limit on the size of files (`ulimit -f unlimited`), then run this again.",
    errno.EMFILE: "Raise this shell's limit on open files (`ulimit -n 16384`), then run this again.",
}
"""What to do about an error that comes from a limit of the process, no matter which file it was about."""


def give_to_owner(file: Path | int, directory: Path) -> None:
    """Gives a file, or the file of a descriptor, to the owner of the directory. Does nothing unless root runs this.

    An operator may run a command as root although Berth does not run as root. Berth must be able to use its files.
    """
    if os.geteuid() != 0:
        return
    owner = directory.stat()
    if isinstance(file, int):
        os.fchown(file, owner.st_uid, owner.st_gid)
    else:
        os.chown(file, owner.st_uid, owner.st_gid, follow_symlinks=False)


def open_owned(path: Path) -> int:
    """Returns the descriptor of a file of the data directory, created with mode 0600 if it is missing.

    Raises `CommandError`.
    """
    try:
        try:
            made = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        except FileExistsError:
            return os.open(path, os.O_RDWR)
        give_to_owner(made, path.parent)
    except OSError as error:
        raise refuse_file(path, error) from None
    return made


def refuse_file(path: Path, error: OSError) -> CommandError:
    return CommandError(f"{path} cannot be used ({error.strerror}). {advise(error)}")


def advise(error: OSError) -> str:
    """Returns a sentence that says what to do about a file that cannot be read or written."""
    if error.errno in LIMITS:
        return LIMITS[error.errno]
    if error.errno in _NO_ROOM:
        return "Free some space, then run this again."
    if error.errno in _FORBIDDEN:
        return "Run this as the user who runs Berth, where that user may write."
    is_link = isinstance(error.filename, str) and os.path.islink(error.filename)  # noqa: PTH114 - it takes any name
    if error.errno in _IN_THE_WAY or is_link:
        return "Something else has its place: move that away, then run this again."
    if error.errno == errno.ENOENT:
        return "Put it back, then run this again."
    return "Check its disk, then run this again."
