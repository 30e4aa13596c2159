"""What a command advises about a file of the data directory fits what is wrong with it."""

import errno
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.backup import marker
from config.backup.errors import BackupError
from config.environment.key_files import private_directory, secret
from config.environment.ownership import advise
from tests.paths import ROOT

pytestmark = pytest.mark.one_database

ROOM, RIGHTS = (
    "Free some space, then run this again.",
    "Run this as the user who runs Berth, where that user may write.",
)
AWAY, BACK = "Something else has its place: move that away, then run this again.", "Put it back, then run this again."
ADVICE = {
    "ENOSPC": ROOM, "EDQUOT": ROOM, "EACCES": RIGHTS, "EPERM": RIGHTS, "EROFS": RIGHTS, "EISDIR": AWAY, "ENOTDIR": AWAY,
    "EEXIST": AWAY, "ELOOP": AWAY, "ENOENT": BACK,
    "EFBIG": "Raise this shell's limit on the size of files (`ulimit -f unlimited`), then run this again.",
    "EMFILE": "Raise this shell's limit on open files (`ulimit -n 16384`), then run this again.",
}  # fmt: skip
IN_THE_WAY: dict[str, Callable[[Path], object]] = {
    "folder": Path.mkdir, "link to nothing": lambda path: path.symlink_to("/nowhere/x"),
    "link to itself": lambda path: path.symlink_to(path), "below a file": lambda path: path.symlink_to("/etc/passwd/x"),
}  # fmt: skip


@pytest.mark.parametrize("name", [*errno.errorcode.values()])
def test_every_error_has_its_advice(name: str, tmp_path: Path) -> None:
    number = getattr(errno, name)
    error = OSError(number, os.strerror(number), str(tmp_path / "file"))
    named = errno.errorcode[number]
    assert advise(error) == ADVICE.get(named, "Check its disk, then run this again.")


@pytest.mark.parametrize("what", IN_THE_WAY)
def test_a_key_that_is_no_file_is_not_to_be_replaced_by_another(what: str, tmp_path: Path) -> None:
    """The stored credentials would be lost with the key."""
    IN_THE_WAY[what](tmp_path / "encryption_keys.key")
    with pytest.raises(ImproperlyConfigured) as caught:
        secret("BERTH_ENCRYPTION_KEYS", tmp_path)
    assert str(caught.value).endswith(AWAY)
    assert "Set one" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["encryption_keys.key"]


@pytest.mark.parametrize("what", [*set(IN_THE_WAY) - {"folder"}, "file"])
def test_something_else_in_the_place_of_the_data_directory_is_told(what: str, tmp_path: Path) -> None:
    (IN_THE_WAY | {"file": Path.touch})[what](tmp_path / "var")
    with pytest.raises(ImproperlyConfigured) as caught:
        private_directory(tmp_path / "var")
    assert str(caught.value).endswith(AWAY)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EISDIR])
def test_a_lock_of_restores_that_cannot_be_made_is_told(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, **_: object) -> None:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr("django.conf.settings.BERTH_DATA_DIR", tmp_path)
    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(BackupError) as caught, marker.only_one():
        pass
    assert str(caught.value).endswith(ADVICE[errno.errorcode[number]])


@pytest.mark.parametrize("place", ["/nowhere", "/proc", "/etc/passwd"])
def test_a_script_without_a_place_for_temporary_files_says_what_to_do(place: str) -> None:
    script = "set -euo pipefail; source config/bin/common.sh; step 'Doing it' touch /tmp/never; echo went on"
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, env={"PATH": "/usr/bin:/bin", "TMPDIR": place},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert done.stderr.startswith("Doing it: failed to create ")
    assert done.stderr.endswith(
        "Free some space, or set TMPDIR to a directory that can be written, then run this again.\n"
    )
