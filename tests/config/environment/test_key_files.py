"""Keys that are created on the first start."""

import os
import subprocess
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.environment.key_files import private_directory, secret
from tests.paths import ROOT


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="This is no clone of the repository.")
def test_no_key_is_in_the_repository() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    assert [name for name in listed.split(b"\0") if name.endswith((b".key", b".sqlite3"))] == []


def test_the_first_of_two_processes_creates_the_key_for_both(tmp_path: Path) -> None:
    first = secret("BERTH_X", tmp_path, lambda: "1" * 64)
    second = secret("BERTH_X", tmp_path, lambda: "2" * 64)
    assert (first, second) == ("1" * 64, "1" * 64)
    assert [path.name for path in tmp_path.iterdir()] == ["x.key"]


def test_a_key_file_that_cannot_be_created_is_reported_in_a_sentence() -> None:
    with pytest.raises(ImproperlyConfigured, match="BERTH_X is not set and its file"):
        secret("BERTH_X", Path("/proc/nothing"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("owner", [0, 12_345])
def test_a_key_that_root_creates_belongs_to_the_owner_of_the_directory(tmp_path: Path, owner: int) -> None:
    """Otherwise the service of an ordinary user could not read it."""
    os.chown(tmp_path, owner, owner)
    secret("BERTH_X", tmp_path)
    found = (tmp_path / "x.key").stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (owner, owner, 0o600)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_root_changes_the_encryption_key_as_documented_and_the_owner_can_read_it(tmp_path: Path) -> None:
    documented = (ROOT / "docs/operations.md").read_text().partition("## Change keys")[2].partition("```sh\n")[2]
    lines = [line for line in documented.partition("```")[0].splitlines() if "encryption_keys" in line]
    assert len(lines) == 6
    key = tmp_path / "var/encryption_keys.key"
    key.parent.mkdir()
    key.write_text("old\n")
    key.chmod(0o600)
    os.chown(key, 12_345, 12_345)
    for half, content in ((lines[:3], "new,old\n"), (lines[3:], "new\n")):
        subprocess.run(["sh", "-ec", "\n".join(["new=new", *half])], cwd=tmp_path, check=True)
        assert key.read_text() == content
        assert (key.stat().st_uid, mode(key)) == (12_345, 0o600)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("open_to", [0o755, 0o777, 0o750, 0o705, 0o711, 0o770])
@pytest.mark.parametrize("content", [None, "berth.sqlite3", "secret_key.key", "berth.env", "sbom"])
def test_a_directory_that_existed_is_closed_to_others(tmp_path: Path, open_to: int, content: str | None) -> None:
    directory = tmp_path / "var"
    directory.mkdir()
    if content:
        (directory / content).touch()
    directory.chmod(open_to)
    assert private_directory(directory) == directory
    assert mode(directory) == 0o700


def test_a_new_directory_is_private(tmp_path: Path) -> None:
    assert mode(private_directory(tmp_path / "a" / "b")) == 0o700


def test_a_private_directory_stays_unchanged(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert mode(private_directory(tmp_path)) == 0o500


@pytest.mark.parametrize("open_to", [0o755, 0o1777])
def test_a_directory_of_others_is_refused_and_stays_open(tmp_path: Path, open_to: int) -> None:
    (tmp_path / "passwd").touch()
    tmp_path.chmod(open_to)
    with pytest.raises(ImproperlyConfigured, match="Choose a directory of its own, or close it"):
        private_directory(tmp_path)
    assert tmp_path.stat().st_mode & 0o7777 == open_to


@pytest.mark.parametrize("content", [None, "berth.sqlite3", "secret_key.key"])
def test_a_shared_directory_is_refused_for_what_it_is_and_stays_open(tmp_path: Path, content: str | None) -> None:
    """A new tmpfs, for example, whose sentence named files of others although it was empty."""
    if content:
        (tmp_path / content).touch()
    tmp_path.chmod(0o1777)
    with pytest.raises(ImproperlyConfigured, match="Choose a directory of its own, or close it") as raised:
        private_directory(tmp_path)
    assert "with the sticky bit" in str(raised.value)
    assert "files that are not Berth's" not in str(raised.value)
    assert tmp_path.stat().st_mode & 0o7777 == 0o1777


NOT_ROOT, SOMEBODY = 10_123, 10_124
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives directories away")


@pytest.fixture
def anothers(tmp_path: Path) -> Path:
    """A data directory of Berth that belongs to another user."""
    path = tmp_path / "var"
    path.mkdir()
    (path / "berth.sqlite3").touch()
    os.chown(path, SOMEBODY, SOMEBODY)
    return path


@needs_root
@pytest.mark.parametrize("open_to", [0o755, 0o777, 0o1777, 0o705, 0o701, 0o704, 0o702, 0o775])
@pytest.mark.parametrize("content", [None, "passwd", "berth.sqlite3"])
def test_another_user_s_world_accessible_directory_is_refused(
    anothers: Path, monkeypatch: pytest.MonkeyPatch, open_to: int, content: str | None
) -> None:
    (anothers / "berth.sqlite3").unlink()
    if content:
        (anothers / content).touch()
    anothers.chmod(open_to)
    monkeypatch.setattr("config.environment.key_files.os.geteuid", lambda: NOT_ROOT)
    with pytest.raises(ImproperlyConfigured, match="Choose a directory of its own, or") as raised:
        private_directory(anothers)
    assert str(anothers) in str(raised.value)
    assert anothers.stat().st_mode & 0o7777 == open_to


@needs_root
@pytest.mark.parametrize("open_to", [0o700, 0o750, 0o770, 0o2770])
@pytest.mark.parametrize("user", [0, NOT_ROOT])
def test_another_user_s_group_accessible_directory_stays_unchanged(
    anothers: Path, monkeypatch: pytest.MonkeyPatch, open_to: int, user: int
) -> None:
    anothers.chmod(open_to)
    monkeypatch.setattr("config.environment.key_files.os.geteuid", lambda: user)
    assert private_directory(anothers) == anothers
    assert anothers.stat().st_mode & 0o7777 == open_to


@needs_root
@pytest.mark.parametrize(("open_to", "closed"), [(0o755, 0o750), (0o777, 0o770), (0o705, 0o700)])
def test_root_makes_another_user_s_directory_private_and_keeps_its_owner(
    anothers: Path, open_to: int, closed: int
) -> None:
    anothers.chmod(open_to)
    assert private_directory(anothers) == anothers
    assert (mode(anothers), anothers.stat().st_uid) == (closed, SOMEBODY)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"\0" * 64, "is damaged: it holds something that is no text"),  # what a power cut leaves
        (b"\xff\xfe" * 32, "is damaged: it holds something that is no text"),
        (b"x" * 40 + b"\x1b[2J", "is damaged: it holds something that is no text"),
        (b"x" * 31 + b"\n", "is damaged: what it holds is too short"),
    ],
)
def test_a_damaged_key_file_is_reported_without_its_content(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "x.key").write_bytes(content)
    with pytest.raises(ImproperlyConfigured) as told:
        secret("BERTH_X", tmp_path)
    assert said in str(told.value)
    assert "Put the key back from your backup." in str(told.value)
    assert not content.strip() or content.strip().decode(errors="replace") not in str(told.value)
    assert (tmp_path / "x.key").read_bytes() == content
