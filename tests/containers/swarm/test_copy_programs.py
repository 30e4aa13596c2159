"""The scripts of the jobs that copy an agent's memory, run with the tools of GNU and of BusyBox."""

import subprocess
from pathlib import Path

import pytest

from containers.swarm.states.copy_programs import (
    COPY_PATH,
    DROP,
    KEEP,
    LACKS_PROGRAMS,
    NO_COPY,
    OUT_OF_TIME,
    RETURN,
    STATE_PATH,
    TOO_LARGE,
)
from tests.busybox import BUSYBOX

pytestmark = pytest.mark.one_database

LARGE = str(1 << 62)
APPLETS = ("sh", "tar", "head", "dd", "wc", "mv", "rm", "find", "timeout", "sleep")


class Volumes:
    """The agent's memory and the volume for its copy."""

    def __init__(self, home: Path, programs: Path) -> None:
        self.state, self.copy, self._programs = home / "state", home / "copy", programs
        self.state.mkdir()
        self.copy.mkdir()

    def run(self, script: str, *arguments: str) -> int:
        here = script.replace(STATE_PATH, str(self.state)).replace(COPY_PATH, str(self.copy))
        command = ["/bin/sh", "-c", here, "copies", *arguments]
        return subprocess.run(command, env={"PATH": str(self._programs)}, check=False, timeout=60).returncode

    @property
    def copies(self) -> list[str]:
        return sorted(each.name for each in self.copy.iterdir())


@pytest.fixture(params=["GNU", "BusyBox"])
def volumes(request: pytest.FixtureRequest, tmp_path: Path) -> Volumes:
    if request.param == "GNU":
        return Volumes(tmp_path, Path("/usr/bin"))
    programs = tmp_path / "bin"
    programs.mkdir()
    for each in APPLETS:
        (programs / each).symlink_to(BUSYBOX)
    return Volumes(tmp_path, programs)


def fill(volumes: Volumes) -> dict[str, str]:
    (volumes.state / "notes").mkdir()
    (volumes.state / "notes" / "a\nb").write_text("x" * 10_000)
    (volumes.state / "-rf").write_text("not an option")
    (volumes.state / ".hidden").write_text("é")
    (volumes.state / "away").symlink_to("/etc/passwd")
    return content(volumes)


def content(volumes: Volumes) -> dict[str, str]:
    return {
        str(each.relative_to(volumes.state)): str(each.readlink()) if each.is_symlink() else each.read_text()
        for each in sorted(volumes.state.rglob("*"))
        if each.is_symlink() or each.is_file()
    }


def test_a_state_comes_back_as_it_was_as_often_as_it_has_to(volumes: Volumes) -> None:
    before = fill(volumes)
    assert [volumes.run(KEEP, "30", LARGE) for _ in range(2)] == [0, 0]
    (volumes.state / "new").write_text("of the new image")
    (volumes.state / "-rf").unlink()
    for _ in range(2):
        assert volumes.run(RETURN, "30") == 0
        assert content(volumes) == before
    assert volumes.copies == ["kept.tar"]
    assert [volumes.run(DROP) for _ in range(2)] == [0, 0]
    assert volumes.copies == []


def test_without_a_copy_the_state_stays(volumes: Volumes) -> None:
    before = fill(volumes)
    (volumes.copy / "part").write_text("of a killed job")
    assert volumes.run(RETURN, "30") == NO_COPY
    assert content(volumes) == before


def test_a_state_that_is_too_large_leaves_no_copy(volumes: Volumes) -> None:
    fill(volumes)
    assert volumes.run(KEEP, "30", LARGE) == 0
    size = (volumes.copy / "kept.tar").stat().st_size
    assert (volumes.run(KEEP, "30", str(size)), volumes.copies) == (TOO_LARGE, [])
    assert (volumes.run(KEEP, "30", str(size + 1)), volumes.copies) == (0, ["kept.tar"])


def test_a_copy_that_takes_too_long_ends_by_itself_and_leaves_nothing(volumes: Volumes, tmp_path: Path) -> None:
    fill(volumes)
    slow = KEEP.replace("pack='{ tar", "pack='{ sleep 50; tar")
    assert slow != KEEP
    assert (volumes.run(slow, "1", LARGE) in OUT_OF_TIME, volumes.copies) == (True, [])


def test_a_file_that_cannot_be_read_leaves_no_copy(volumes: Volumes) -> None:
    fill(volumes)
    broken = KEEP.replace("tar --numeric-owner -cf - .", "tar --numeric-owner -cf - . missing 2>/dev/null")
    assert broken != KEEP
    assert (volumes.run(broken, "30", LARGE), volumes.copies) == (1, [])


@pytest.mark.parametrize("script", [KEEP, RETURN])
def test_an_image_without_the_programs_is_told_apart(tmp_path: Path, script: str) -> None:
    volumes = Volumes(tmp_path, tmp_path / "nothing")
    assert volumes.run(script, "30", LARGE) == LACKS_PROGRAMS
