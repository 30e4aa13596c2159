"""Tells faults of the disk from mistakes in a change, and describes them for staff. Pure."""

import errno
import os
import sqlite3
from contextlib import suppress
from pathlib import Path

_SQL_MISTAKE = 1
_CORRUPT, _FULL, _NO_DATABASE = 11, 13, 26
_LOST_TABLE = "no such table"
"""The message for a file that someone has emptied: to SQLite, an empty file is a database without tables."""
_NO_TEXT = "Could not decode to UTF-8"
"""How the message begins for a column whose text is none. Also the names in the schema may be none."""
_WORDS = {
    5: "its usage file is locked by another program",
    6: "its usage file is locked by another program",
    8: "its disk is read-only",
    10: "its disk reports errors",
    13: "its disk is full",
    14: "its usage file cannot be opened",
}
FULL = _WORDS[13]
HANGS = "its disk does not answer"
_OF_SYSTEM = {
    errno.ENOSPC: FULL,
    errno.EDQUOT: FULL,
    errno.EROFS: _WORDS[8],
    errno.EIO: _WORDS[10],
}
_LEAST_FREE = 64 * 1024
"""Bytes. With less than that, SQLite may report an error of the disk although the disk is only full."""


class DiskError(Exception):
    """The data could not be written or read. The message says why, for staff."""


class ReplacedError(OSError):
    """The file that is open is no longer the one that has the name: it was removed, or another one put in its place."""


def is_damage(error: BaseException) -> bool:
    """Whether the file itself is damaged or gone, so that trying again is of no use."""
    code = _code_of(error)
    if isinstance(error, ReplacedError | UnicodeDecodeError) or str(error).startswith(_NO_TEXT):
        return True
    return code in (_CORRUPT, _NO_DATABASE) or (code == _SQL_MISTAKE and str(error).startswith(_LOST_TABLE))


def is_of_disk(error: BaseException) -> bool:
    """Whether the same change may succeed later. Otherwise it would fail again."""
    if isinstance(error, sqlite3.OperationalError):
        return _code_of(error) != _SQL_MISTAKE
    return isinstance(error, OSError) or is_damage(error)


def is_full(error: BaseException) -> bool:
    """Whether SQLite found no room, and so did not write what it was to write last."""
    return _code_of(error) == _FULL


def describe(error: BaseException, folder: Path | None = None) -> str:
    """Returns what is wrong, as the end of a sentence. It quotes nothing from the error, which could be an agent's."""
    if isinstance(error, TimeoutError):
        return HANGS
    if isinstance(error, OSError) and not is_damage(error):
        return _OF_SYSTEM.get(error.errno or 0, "it cannot be used")
    if is_damage(error):
        return "its usage file is damaged"
    if folder is not None and (state := _state_of(folder)):
        return state
    return _WORDS.get(_code_of(error) or 0, "it cannot be used")


def _code_of(error: BaseException) -> int | None:
    """Returns the primary code of SQLite, or None if the error has none."""
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(error, sqlite3.Error) and isinstance(code, int) else None


def _state_of(folder: Path) -> str:
    """Returns what is wrong with the whole disk; empty if nothing is known."""
    with suppress(OSError):
        found = os.statvfs(folder)
        if found.f_flag & os.ST_RDONLY:
            return _WORDS[8]
        if found.f_bavail * found.f_frsize < _LEAST_FREE:
            return FULL
    return ""
