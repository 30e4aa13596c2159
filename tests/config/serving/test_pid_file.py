"""The file that names the serving process, on a disk that fails after the start."""

import errno
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from config.serving.pid_file import PidFile, Serving, find_serving

pytestmark = pytest.mark.one_database

NOTES: dict[str, Callable[[PidFile], None]] = {
    "ready": PidFile.note_ready,
    "obstacle": lambda file: file.note_obstacle("a key\nis damaged"),
}
LONG = "an obstacle that is longer than all others"


@pytest.fixture
def file(settings: Any, tmp_path: Path) -> PidFile:
    settings.BERTH_DATA_DIR = tmp_path
    return PidFile()


@pytest.mark.parametrize("call", ["pwrite", "ftruncate"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.ESTALE])
@pytest.mark.parametrize("note", NOTES)
def test_a_disk_that_fails_does_not_end_the_service(
    note: str, number: int, call: str, file: PidFile, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    """A reload on a full disk ended the web server and the watcher."""

    def refuse(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr(os, call, refuse)
        NOTES[note](file)
    assert os.strerror(number) in caplog.text
    assert caplog.text.count("\n") == 1
    NOTES[note](file)
    assert (found := find_serving()) is not None
    assert found.pid == os.getpid()


@pytest.mark.parametrize("note", NOTES)
def test_a_reader_in_between_finds_the_service(note: str, file: PidFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """`reload` took an empty file for a service that does not run."""
    file.note_ready()
    file.note_obstacle(LONG)
    seen: list[Serving | None] = []

    def looking(function: Callable[..., int]) -> Callable[..., int]:
        def look(*arguments: Any) -> int:
            done = function(*arguments)
            seen.append(find_serving())
            return done

        return look

    for name in ("pwrite", "ftruncate"):
        monkeypatch.setattr(os, name, looking(getattr(os, name)))
    NOTES[note](file)
    assert len(seen) == 2
    assert all(each is not None and each.pid == os.getpid() for each in seen)
    if note == "obstacle":
        assert {each.obstacle for each in seen if each} == {"a key is damaged"}
