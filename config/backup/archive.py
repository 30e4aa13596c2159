"""The archive as a file: a plain tar of plain files, written and read in pieces.

`tarfile`'s own reading is not used, because it follows long names, sparse files and extensions that a member announces.
Here a member is a file with a short name, and anything else ends the reading.
"""

import hashlib
import re
import stat
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

from config.backup.errors import BackupError

BLOCK = tarfile.BLOCKSIZE
PIECE = 1024 * 1024
LONGEST_LINE = 64 * 1024 * 1024
"""Maximum bytes of one row."""

_NAME = re.compile(r"manifest\.json|seal\.json|tables/[a-z_]{1,40}\.[a-z_]{1,40}\.jsonl|memory/[0-9]{1,9}\.tar")


def may_replace(path: Path) -> bool:
    """Returns whether nothing but an archive is lost if one is written to this path."""
    if not path.exists() or not path.stat().st_size:
        return True
    with path.open("rb") as file:
        try:
            return bool(_NAME.fullmatch(tarfile.TarInfo.frombuf(file.read(BLOCK), "ascii", "strict").name))
        except (tarfile.TarError, ValueError):
            return False


class Member:
    """A member that is being written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.size = 0

    def write(self, content: bytes) -> None:
        self._file.write(content)
        self._digest.update(content)
        self.size += len(content)

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


class ArchiveWriter:
    """Writes members one after another. The length of a member need not be known in advance."""

    def __init__(self, file: BinaryIO, *, moment: float) -> None:
        """`moment` is the modification time of the members, in seconds since 1970."""
        self._file = file
        self._moment = moment

    @contextmanager
    def member(self, name: str) -> Iterator[Member]:
        """Adds a member, which the block writes. If the block raises, the archive is restored to its previous state."""
        start = self._file.tell()
        self._file.write(bytes(BLOCK))
        member = Member(self._file)
        try:
            yield member
        except Exception:
            self._file.seek(start)
            self._file.truncate()
            raise
        self._file.write(bytes(-member.size % BLOCK))
        end = self._file.tell()
        header = tarfile.TarInfo(name)
        header.size, header.mode, header.mtime = member.size, 0o600, int(self._moment)
        self._file.seek(start)
        self._file.write(header.tobuf(tarfile.GNU_FORMAT, "ascii", "strict"))
        self._file.seek(end)

    def finish(self) -> None:
        self._file.write(bytes(2 * BLOCK))


@dataclass(frozen=True, slots=True)
class _Place:
    offset: int
    size: int


class Content:
    """A member that is being read from its beginning to its end."""

    def __init__(self, file: BinaryIO, place: _Place) -> None:
        self._file = file
        self._left = place.size
        self._digest = hashlib.sha256()
        file.seek(place.offset)

    def read(self, size: int = -1) -> bytes:
        """Returns at most `size` bytes; none at the end of the member."""
        wanted = min(self._left, PIECE if size < 0 else size)
        return self._count(self._file.read(wanted), wanted)

    def lines(self) -> Iterator[bytes]:
        while self._left:
            line = self._file.readline(min(self._left, LONGEST_LINE))
            if not line.endswith(b"\n"):
                raise BackupError("The archive is damaged: one of its rows has no end. Use another backup.")
            yield self._count(line, len(line))

    def finish(self) -> str:
        """Reads the rest, and returns the digest of the whole member."""
        while self.read():
            pass
        return self._digest.hexdigest()

    def _count(self, piece: bytes, wanted: int) -> bytes:
        if len(piece) < wanted:
            raise BackupError("The archive has become shorter while it was read. Copy it again.")
        self._left -= len(piece)
        self._digest.update(piece)
        return piece


class ArchiveReader:
    """Finds the members of an archive. Raises `BackupError` for a file that is not an archive, or
    not a complete one.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._places: dict[str, _Place] = {}
        self._scan()

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[Self]:
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise BackupError(f"{path} is not a file. Name the archive that `manage.py backup` has written.")
            file = path.open("rb")
        except OSError as error:
            raise BackupError(
                f"{path} cannot be read ({error.strerror}). Check the path and its permissions."
            ) from None
        with file:
            try:
                yield cls(file, str(path))
            except OSError as error:
                if error.filename is not None or isinstance(error, BrokenPipeError):
                    raise  # an error of another file, or of the output
                raise BackupError(f"{path} cannot be read ({error.strerror}). Check the disk that it is on.") from None

    @property
    def names(self) -> list[str]:
        return list(self._places)

    def size(self, name: str) -> int:
        return self._places[name].size

    def content(self, name: str) -> Content:
        return Content(self._file, self._places[name])

    def _scan(self) -> None:
        length = self._file.seek(0, 2)
        offset = 0
        while (block := self._read_header(offset, length)) is not None:
            info = self._parse(block, is_first=not self._places)
            if info.name in self._places:
                raise BackupError(f"{self._name} is damaged: it has {info.name} twice. Use another backup.")
            self._places[info.name] = _Place(offset + BLOCK, info.size)
            offset += BLOCK + info.size + -info.size % BLOCK
        if any(self._file.read(PIECE).strip(b"\0") for _ in range(2)):
            raise BackupError(f"{self._name} is damaged: something follows its end. Use another backup.")

    def _read_header(self, offset: int, length: int) -> bytes | None:
        """Returns None at the end of the archive."""
        self._file.seek(offset)
        block = self._file.read(BLOCK)
        if len(block) < BLOCK:
            what = "is cut off" if self._places else "is not an archive of `manage.py backup`"
            raise BackupError(f"{self._name} {what}: it has {length} bytes. Copy it again, or use another backup.")
        return block if block.strip(b"\0") else None

    def _parse(self, block: bytes, *, is_first: bool) -> tarfile.TarInfo:
        """Refuses links, devices, directories, sparse files, extensions, and names that our archives never contain."""
        try:
            info = tarfile.TarInfo.frombuf(block, "ascii", "strict")
        except (tarfile.HeaderError, UnicodeError, ValueError):
            info = None
        if info is not None and info.type == tarfile.REGTYPE and info.size >= 0 and _NAME.fullmatch(info.name):
            return info
        if is_first:
            raise BackupError(f"{self._name} is not an archive of `manage.py backup`. Name one that is.")
        raise BackupError(f"{self._name} is damaged, or someone has changed it. Use another backup.")
