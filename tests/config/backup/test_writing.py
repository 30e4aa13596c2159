"""An archive appears whole or not at all, in spite of full disks, forbidden places, other writers and kills."""

import errno
import fcntl
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from config.backup import archive as archives
from config.backup import whole_files
from config.backup.errors import BackupError
from config.backup.whole_files import write_whole
from projects.models import Installation
from tests.config.backup.conftest import Run
from tests.config.backup.rows import fill_every_table

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]


class FillingDisk:
    """A file on a disk that accepts this many writes."""

    def __init__(self, file: Any, writes: int, number: int) -> None:
        self._file, self._left, self._number = file, writes, number

    def write(self, content: bytes) -> int:
        self._left -= 1
        if self._left < 0:
            raise OSError(self._number, os.strerror(self._number))
        return int(self._file.write(content))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_disk_that_is_full_leaves_the_old_archive(
    number: int, archive: Path, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No matter where the disk is full: in the first header, in a table, in the manifest, or at the end."""
    fill_every_table()
    run("backup", archive)
    noted = Installation.objects.get().backed_up_at
    assert noted is not None
    before = archive.read_bytes()
    for writes in (0, 1, 2, 50, 100):
        with monkeypatch.context() as full:
            init = archives.ArchiveWriter.__init__

            def fill(self: Any, file: Any, *, moment: float, left: int = writes, init: Any = init) -> None:
                init(self, FillingDisk(file, left, number), moment=moment)

            full.setattr(archives.ArchiveWriter, "__init__", fill)
            with pytest.raises(CommandError, match=r"no space left|cannot be written") as raised:
                run("backup", archive)
        assert "\n" not in str(raised.value)
        assert archive.read_bytes() == before
        assert list(folder.iterdir()) == [archive]
    assert Installation.objects.get().backed_up_at == noted


def in_a_missing_directory(folder: Path) -> Path:
    return folder / "missing" / "berth.tar"


def in_a_file(folder: Path) -> Path:
    (folder / "file").touch()
    return folder / "file" / "berth.tar"


def a_directory(folder: Path) -> Path:
    (folder / "directory").mkdir()
    return folder / "directory"


def on_a_device(folder: Path) -> Path:
    return Path("/dev/null")


@pytest.mark.parametrize("place", [in_a_missing_directory, in_a_file, a_directory, on_a_device])
def test_an_unwritable_place_is_reported_in_a_sentence(place: Callable[[Path], Path], folder: Path, run: Run) -> None:
    fill_every_table()
    path = place(folder)
    before = sorted(folder.rglob("*"))
    with pytest.raises(CommandError, match=r"is not a file|cannot be written"):
        run("backup", path)
    assert sorted(folder.rglob("*")) == before


def test_a_missing_permission_is_reported_in_a_sentence(
    archive: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_every_table()

    def refuse(*_: Any, **__: Any) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as forbidden:
        forbidden.setattr("config.backup.whole_files.os.open", refuse)
        with pytest.raises(CommandError, match=r"cannot be written \(Permission denied\)"):
            run("backup", archive)
    assert not archive.exists()


@pytest.mark.parametrize("step", ["os.fchmod", "os.ftruncate", "os.fdopen", "os.chown", "os.fsync", "Path.replace"])
def test_no_step_that_fails_leaves_a_draft_or_an_open_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    write_whole(folder / "x", b"before", for_owner=True)
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    with monkeypatch.context() as broken:
        broken.setattr("config.backup.whole_files.os.geteuid", lambda: 0)  # only root changes the owner
        broken.setattr(f"config.backup.whole_files.{step}", refuse)
        with pytest.raises(BackupError, match="There is no space left"):
            write_whole(folder / "x", b"after", for_owner=True)
    assert [path.name for path in folder.iterdir()] == ["x"]
    assert (folder / "x").read_bytes() == b"before"
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


def test_a_name_that_others_have_prepared_is_not_followed(archive: Path, folder: Path, run: Run) -> None:
    """In a directory to which everyone may write."""
    fill_every_table()
    victim = folder / "victim"
    victim.write_text("precious")
    draft = folder / f".{archive.name}{whole_files.DRAFT}"
    for prepare in (draft.symlink_to, draft.hardlink_to):
        prepare(victim)
        with pytest.raises(CommandError, match="cannot be written"):
            run("backup", archive)
        draft.unlink(missing_ok=True)
    assert victim.read_text() == "precious"


def test_two_backups_do_not_write_one_file(archive: Path, folder: Path, run: Run) -> None:
    fill_every_table()
    with (folder / f".{archive.name}{whole_files.DRAFT}").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(CommandError, match="Another process is writing"):
            run("backup", archive)


def test_remains_of_a_killed_backup_are_overwritten(archive: Path, folder: Path, run: Run) -> None:
    fill_every_table()
    (folder / f".{archive.name}{whole_files.DRAFT}").write_bytes(b"x" * 10_000_000)
    run("backup", archive)
    assert list(folder.iterdir()) == [archive]
    assert archive.stat().st_size < 10_000_000
    run("restore", archive, "--replace", "--dry-run")


@pytest.mark.parametrize("content", [b"SQLite format 3\x00" + bytes(4096), b"a key", bytes(512), b"x" * 600, "a tar"])
def test_no_other_file_is_lost(archive: Path, run: Run, content: bytes | str) -> None:
    """The database itself or a key, for example: a slip of the operator must not cost them."""
    fill_every_table()
    before = content if isinstance(content, bytes) else tarfile.TarInfo("x").tobuf()
    archive.write_bytes(before)
    with pytest.raises(CommandError, match="something other than a backup"):
        run("backup", archive)
    assert archive.read_bytes() == before
    archive.write_bytes(b"")
    run("backup", archive)
    run("backup", archive)


@pytest.mark.parametrize("name", ["/", "x" * 300, "x" * 5000])
def test_a_name_that_no_file_can_have_is_refused(run: Run, folder: Path, name: str) -> None:
    fill_every_table()
    for arguments in ((name,), (folder / "a.tar", "--with-keys", name)):
        with pytest.raises(CommandError, match=r"is not a file|cannot be (written|read)"):
            run("backup", *arguments)


def test_without_a_name_the_backup_is_in_the_data_directory(folder: Path, run: Run) -> None:
    fill_every_table()
    (folder / "backups").mkdir()
    (folder / "backups" / f".berth-20200101-000000.tar{whole_files.DRAFT}").touch()
    run("backup")
    [made] = (folder / "backups").iterdir()
    assert made.name.startswith("berth-20")
    assert made.suffix == ".tar"


def test_a_file_has_its_mode_from_its_creation(folder: Path) -> None:
    before = os.umask(0)
    try:
        with whole_files.whole_file(folder / "x") as file:
            assert os.fstat(file.fileno()).st_mode & 0o777 == 0o600
    finally:
        os.umask(before)
    write_whole(folder / "x", b"y")
    assert (folder / "x").stat().st_mode & 0o777 == 0o600
