"""Files that are neither an archive nor a key file,
and archives that `manage.py backup` cannot have made: one sentence each."""

import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from config.backup.archive import BLOCK
from tests.config.backup.conftest import Run

Refused = Callable[[Path], str]


@pytest.fixture
def refused(run: Run, folder: Path) -> Refused:
    """Restores, and returns the sentence of the refusal. The database is not even opened, and no file changes."""

    def restore(archive: Path) -> str:
        before = files_of(folder)
        with pytest.raises(CommandError) as raised:
            run("restore", archive)
        assert files_of(folder) == before
        assert "\n" not in str(raised.value)
        return str(raised.value)

    return restore


def files_of(folder: Path) -> dict[str, bytes]:
    """Returns all files of the data directory except the lock, with their contents."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != "restore.lock"}


def forge(content: bytes = b"", **header: Any) -> bytes:
    """Returns a member with these fields in its header."""
    info = tarfile.TarInfo("tables/accounts.user.jsonl")
    info.size = len(content)
    for field, value in header.items():
        setattr(info, field, value)
    return info.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % BLOCK)


FORGED: dict[str, bytes] = {
    "a name above": forge(name="../../etc/passwd"),
    "an absolute name": forge(name="/etc/passwd"),
    "a name below": forge(name="tables/../../x.jsonl"),
    "a name of ours twice": forge(),
    "another name": forge(name="readme"),
    "a long name": forge(name="tables/" + "x" * 300),
    "a symbolic link": forge(type=tarfile.SYMTYPE, linkname="/"),
    "a link": forge(type=tarfile.LNKTYPE, linkname="x"),
    "a device": forge(type=tarfile.BLKTYPE),
    "a terminal": forge(type=tarfile.CHRTYPE),
    "a pipe": forge(type=tarfile.FIFOTYPE),
    "a directory": forge(type=tarfile.DIRTYPE),
    "a sparse file": forge(type=tarfile.GNUTYPE_SPARSE),
    "an extension": forge(b"20 path=/etc/passwd\n", type=tarfile.XHDTYPE),
    "more than there is": forge(size=1 << 62),
    "nothing readable": os.urandom(BLOCK),
}


@pytest.mark.parametrize("place", ["in front", "at the end"])
@pytest.mark.parametrize("what", FORGED)
def test_a_member_that_no_archive_has_is_refused(what: str, place: str, archive: Path, refused: Refused) -> None:
    own = forge(b"[]\n")
    archive.write_bytes(FORGED[what] + own + bytes(2 * BLOCK) if place == "in front" else own + FORGED[what])
    assert any(word in refused(archive) for word in ("archive", "damaged", "cut off"))


@pytest.mark.parametrize("content", [b"PK\3\4" + bytes(600), b"\x1f\x8b" + bytes(600), b"SQLite format 3\0" * 99])
def test_another_file_is_refused_as_an_archive(content: bytes, archive: Path, refused: Refused) -> None:
    archive.write_bytes(content)
    assert "not an archive of `manage.py backup`" in refused(archive)


def test_anything_but_a_regular_file_is_refused(archive: Path, folder: Path, refused: Refused) -> None:
    assert "cannot be read" in refused(archive)
    assert "is not a file" in refused(folder)
    os.mkfifo(archive)
    try:
        assert "is not a file" in refused(archive)
    finally:
        archive.unlink()


# -- key files --------------------------------------------------------------------------------------------------------

KEYS = {"BERTH_SECRET_KEY": "s" * 40, "BERTH_TOKEN_KEY": "t" * 40, "BERTH_ENCRYPTION_KEYS": ""}
BAD_KEY_FILES: dict[str, bytes] = {
    "empty": b"",
    "no JSON": b"\xff\xfe",
    "an array": b"[]",
    "another product": b'{"product": "x", "keys": {}}',
    "no keys": b'{"product": "berth"}',
    "a key that is none": json.dumps({"product": "berth", "keys": KEYS | {"BERTH_ENCRYPTION_KEYS": "x"}}).encode(),
    "an empty key": json.dumps({"product": "berth", "keys": KEYS}).encode(),
    "a number": json.dumps({"product": "berth", "keys": KEYS | {"BERTH_SECRET_KEY": 7}}).encode(),
    "too large": b" " * (1 << 20),
    "deep": b"[" * 50_000,
}


@pytest.mark.parametrize("what", BAD_KEY_FILES)
def test_an_invalid_key_file_is_refused(what: str, archive: Path, folder: Path, run: Run) -> None:
    path = folder / "keys.json"
    path.write_bytes(BAD_KEY_FILES[what])
    with pytest.raises(CommandError, match=r"keys\.json is (not a key file|damaged)"):
        run("restore", archive, "--keys", path)
