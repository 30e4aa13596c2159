"""Keeps records on disk: one encrypted file for each project, replaced as a whole or not at all."""

import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from gateway.entries.fields import EntryError
from gateway.entries.record import Record, read_record

ENDING = ".entry"
UNFINISHED = ".new"
TOMBSTONES_KEPT = 30 * 24 * 3600.0
"""Seconds. If a clock is wrong and one is deleted early, a late message is undone by the next look of the service."""

logger = logging.getLogger(__name__)


def read_keys(file: Path) -> MultiFernet:
    """Reads one key per line: the first encrypts, all of them decrypt.

    Raises OSError, and ValueError if the file has no valid key.
    """
    lines = file.read_text().split()
    if not lines:
        raise ValueError("The file of the gateway's key is empty.")
    return MultiFernet([Fernet(line) for line in lines])


class Store:
    """Only one process may use a folder at a time. All methods block until the disk is done."""

    def __init__(self, folder: Path, keys: MultiFernet, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._folder = folder
        self._keys = keys

    def load(self) -> Iterator[Record]:
        """Yields all readable records. The control side sends the others again, because `versions` lacks them.

        Deletes old tombstones: no message from before them can be on its way any more. Raises OSError.
        """
        if not self._folder.is_dir():
            return
        for file in sorted(self._folder.iterdir()):
            if file.suffix == UNFINISHED:
                _delete(file)
            elif file.suffix == ENDING and (record := self._read(file)):
                if record.entry is None and self._is_old(file):
                    _delete(file)
                else:
                    yield record

    def save(self, records: list[Record]) -> None:
        """On return each record is on the disk. After a failure each file is either the old one or the new one.

        Raises OSError.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for record in records:
            text = json.dumps(record.as_document()).encode()
            _replace(self._folder / f"{record.project}{ENDING}", self._keys.encrypt(text))
        with _opened(self._folder) as folder:
            os.fsync(folder)

    def _is_old(self, file: Path) -> bool:
        try:
            return self._now() - file.stat().st_mtime > TOMBSTONES_KEPT
        except OSError:
            return False

    def _read(self, file: Path) -> Record | None:
        try:
            record = read_record(json.loads(self._keys.decrypt(file.read_bytes())))
        except (InvalidToken, EntryError, ValueError, OSError) as error:
            logger.error("An entry cannot be read (%s). The service sends it again.", type(error).__name__)  # noqa: TRY400 - a trace could show what it holds
            return None
        # A file renamed to another project's name says nothing about that project.
        return record if file.name == f"{record.project}{ENDING}" else None


def _delete(file: Path) -> None:
    """The next start tries again what the disk does not allow."""
    with suppress(OSError):
        file.unlink()


def _replace(file: Path, content: bytes) -> None:
    unfinished = file.with_suffix(UNFINISHED)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        unfinished.replace(file)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
