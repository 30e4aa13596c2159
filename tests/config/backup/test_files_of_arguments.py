"""Each file that an operator names for a backup or a restore may be anything: the result is a sentence or right."""

import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import product
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from config.backup.keys import LARGEST, read_key_file
from config.environment import small_files
from tests.config.backup.conftest import Run
from tests.config.backup.rows import fill_every_table

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database, pytest.mark.timeout(60)]


def make_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def make_loop(path: Path) -> None:
    path.symlink_to(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(os.path.relpath(path))


KINDS: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: None,
    "in no folder": lambda path: path.symlink_to("/nowhere/at/all"),
    "below a file": lambda path: path.symlink_to("/etc/passwd/x"),
    "folder": lambda path: path.mkdir(),
    "empty": lambda path: path.touch(),
    "text": lambda path: path.write_text("hello"),
    "huge": make_huge,
    "pipe": os.mkfifo,
    "socket": make_socket,
    "loop": make_loop,
    "null": lambda path: path.symlink_to("/dev/null"),
    "zeros": lambda path: path.symlink_to("/dev/zero"),
    "long name": lambda path: None,
}
ARGUMENTS = {
    "backup": ["backup", "{file}"], "with keys": ["backup", "{archive}", "--with-keys", "{file}"],
    "restore": ["restore", "{file}", "--replace"], "keys": ["restore", "{good}", "--replace", "--keys", "{file}"],
}  # fmt: skip
LINKS = ("in no folder", "below a file", "loop")
TAKES = {("backup", "empty"), *product(("backup", "with keys"), ("missing", *LINKS))}
"""What is written: a link that leads nowhere is replaced."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("argument", "kind"), [*product(ARGUMENTS, KINDS)])
def test_a_file_of_any_kind_is_used_or_refused_in_a_sentence(
    argument: str, kind: str, archive: Path, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(small_files, "PATIENCE", 0.2)
    fill_every_table()
    run("backup", archive)
    file = folder / ("x" * 300 if kind == "long name" else "file")
    KINDS[kind](file)
    before = sorted(path.name for path in folder.iterdir())
    names = {"file": file, "archive": folder / "other.tar", "good": archive}
    words = [word.format(**names) for word in ARGUMENTS[argument]]
    if (argument, kind) in TAKES:
        assert "Wrote" in run(*words)
        return
    with pytest.raises(CommandError) as caught:
        run(*words)
    assert file.name in str(caught.value) or (argument, kind) == ("restore", "huge")
    assert "\n" not in str(caught.value)
    assert sorted(path.name for path in folder.iterdir() if path.name != "restore.lock") == before


@contextmanager
def named_pipe(keys: Path, folder: Path) -> Iterator[str]:
    path = folder / "pipe"
    os.mkfifo(path)
    with subprocess.Popen(["sh", "-c", 'sleep 0.3; cat "$1" >"$2"', "sh", keys, path]) as writer:
        yield str(path)
        assert writer.wait() == 0


@contextmanager
def anonymous_pipe(keys: Path, folder: Path) -> Iterator[str]:
    with subprocess.Popen(["cat", keys], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        yield f"/dev/fd/{writer.stdout.fileno()}"


@contextmanager
def in_pieces(keys: Path, folder: Path) -> Iterator[str]:
    write = "dd bs=50 count=1 status=none; sleep 0.3; cat"
    with keys.open("rb") as file, subprocess.Popen(["sh", "-c", write], stdin=file, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        yield f"/dev/fd/{writer.stdout.fileno()}"


@contextmanager
def file_descriptor(keys: Path, folder: Path) -> Iterator[str]:
    with keys.open("rb") as file:
        yield f"/dev/fd/{file.fileno()}"


@pytest.mark.parametrize("source", [named_pipe, anonymous_pipe, in_pieces, file_descriptor])
def test_keys_may_come_from_another_program(
    source: Callable[[Path, Path], AbstractContextManager[str]], archive: Path, folder: Path, run: Run
) -> None:
    fill_every_table()
    keys = folder / "keys.json"
    run("backup", archive, "--with-keys", keys)
    with source(keys, folder) as pipe:
        assert "Restored" in run("restore", archive, "--replace", "--keys", pipe)


def test_a_pipe_into_which_nothing_is_written_is_a_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_files, "PATIENCE", 0.2)
    os.mkfifo(folder / "pipe")
    with pytest.raises(CommandError, match=r"cannot be read .nothing was written into it"):
        read_key_file(folder / "pipe")


def test_no_more_is_read_than_a_key_file_can_have(folder: Path) -> None:
    make_huge(folder / "huge")
    assert len(small_files.read_small(folder / "huge", most=LARGEST)) <= 2 * LARGEST + 2
