"""The tar archive of one agent's memory, checked while it passes by.

An engine announces the size of each file before its content. If an agent shortens a file meanwhile, Docker can write
nothing more: the archive ends within that file, without an error. A whole one begins with the directory `data` and ends
with two empty blocks behind the last entry (Docker 20.10; of a file that grows it sends what it has announced).
"""

import tarfile
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath
from typing import IO, Protocol, cast

from containers.agent_contract import DATA_PATH

DIRECTORY = DATA_PATH.strip("/")
_END = 2 * tarfile.BLOCKSIZE
_UNREADABLE = (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError)

CUT_OFF = "its copy ends too early or cannot be read"
FOREIGN = "its copy contains entries that no agent can have created"


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class Passing:
    """A readable file of these pieces. Each is handed to `note` when it is first needed."""

    def __init__(self, pieces: Iterable[bytes], note: Callable[[bytes], None]) -> None:
        self._pieces = iter(pieces)
        self._note = note
        self._rest = memoryview(b"")

    def read(self, size: int = -1, /) -> bytes:
        """Returns at most `size` bytes; none at the end."""
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._note(piece)
            self._rest = memoryview(piece)
        wanted = len(self._rest) if size < 0 else size
        found, self._rest = self._rest[:wanted], self._rest[wanted:]
        return bytes(found)


class _Counted:
    """Counts the bytes that were read, and how many zeros they end with."""

    def __init__(self, file: _Readable) -> None:
        self._file = file
        self.size = 0
        self.zeros = 0

    def read(self, size: int = -1, /) -> bytes:
        piece = self._file.read(size)
        used = len(piece.rstrip(b"\0"))
        self.zeros = len(piece) - used + (0 if used else self.zeros)
        self.size += len(piece)
        return piece


def find_flaw(file: _Readable) -> str:
    """Returns why the memory cannot be restored from this archive; empty if it can. Reads a good one to its end."""
    counted = _Counted(file)
    first: tarfile.TarInfo | None = None
    try:
        with tarfile.open(fileobj=cast("IO[bytes]", counted), mode="r|") as archive:
            for entry in iter(archive.next, None):
                first = first or entry
                if not _is_safe(entry):
                    return FOREIGN
                archive.members = []  # type: ignore[attr-defined]  # before Python 3.13 it keeps them all
            end = archive.offset
    except _UNREADABLE:
        return CUT_OFF
    while counted.read(tarfile.RECORDSIZE):
        pass
    is_whole = _END <= counted.size - end <= counted.zeros
    is_ours = first is not None and first.isdir() and first.name == DIRECTORY
    return "" if is_whole and is_ours else CUT_OFF


def _is_safe(entry: tarfile.TarInfo) -> bool:
    """Returns whether the entry is a file, directory, link or pipe below the directory of the volume."""
    inside = _is_inside(entry.name) and (not entry.islnk() or _is_inside(entry.linkname))
    return inside and (entry.isreg() or entry.isdir() or entry.issym() or entry.islnk() or entry.isfifo())


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and path.parts[:1] == (DIRECTORY,)
