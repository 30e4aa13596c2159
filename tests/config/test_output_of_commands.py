"""The output of `manage.py` in another encoding, into a closed pipe or onto a full disk: no traceback."""

import errno
import os
import subprocess
import sys
import tempfile
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from config.environment.ownership import LIMITS
from config.management import command_line
from config.management.command_line import UNREAD, CommandLine
from config.management.full_disk import explain_full_disk
from tests.paths import ROOT

pytestmark = pytest.mark.one_database
FULL = Path("/dev/full")
SAID = "… “Zürich” 日本\n"


def say(_: CommandLine) -> None:
    with explain_full_disk():
        sys.stdout.write(SAID)
        sys.stdout.flush()


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["manage.py", "say"])
    monkeypatch.setattr(CommandLine, "execute", say)


@pytest.mark.usefixtures("command")
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "cp437", "koi8-r", "shift_jis", "utf-8"])
def test_characters_that_an_encoding_lacks_are_written_as_codes(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first `make run` broke off where a terminal has no “…”."""
    with (tmp_path / "said").open("w", encoding=encoding) as output:
        monkeypatch.setattr(sys, "stdout", output)
        assert command_line.run() == 0
    assert (tmp_path / "said").read_bytes() == SAID.encode(encoding, errors="backslashreplace")


def unread() -> TextIOWrapper:
    reads, writes = os.pipe()
    os.close(reads)
    return os.fdopen(writes, "w")


@pytest.mark.usefixtures("command")
@pytest.mark.parametrize(
    ("case", "code", "sentence"),
    [("unread", UNREAD, ""), ("full", 1, "The output cannot be written: No space left on device.\n")],
)
def test_output_that_cannot_be_written_is_a_sentence_or_nothing(
    case: str, code: int, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    output = unread() if case == "unread" else FULL.open("w")
    monkeypatch.setattr(sys, "stdout", output)
    if case == "full":  # without a disk of its own
        monkeypatch.setattr(CommandLine, "execute", lambda _: sys.stdout.write(SAID))
    assert command_line.run() == code
    assert capsys.readouterr().err == sentence
    output.close()  # as at the interpreter's end


def test_nothing_is_said_at_the_end_of_the_interpreter() -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "manage.py", "firewall", "--boot"],
            cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "The output cannot be written: No space left on device.\n")


@pytest.mark.parametrize("place", ["data", "elsewhere", None])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EISDIR, errno.EIO])
def test_a_file_that_cannot_be_used_is_a_sentence_if_it_is_in_the_data_directory_or_the_disk_is_full(
    number: int, place: str | None, monkeypatch: pytest.MonkeyPatch, capsys: Any, settings: Any
) -> None:
    path = {"data": f"{settings.BERTH_DATA_DIR}/x/y", "elsewhere": "/elsewhere/y", None: None}[place]

    def fail(_: CommandLine) -> None:
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(sys, "argv", ["manage.py", "say"])
    monkeypatch.setattr(CommandLine, "execute", fail)
    with tempfile.TemporaryFile("w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        is_full = number in {errno.ENOSPC, errno.EDQUOT}
        if place != "data" and not is_full:
            with pytest.raises(OSError, match="Errno"):
                command_line.run()
            return
        assert command_line.run() == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{path or 'The output'} cannot be " in said
    assert ("Free some space, then run this again." in said) == (is_full and path is not None)


@pytest.mark.parametrize("place", ["data", "/elsewhere/y", None])
@pytest.mark.parametrize("number", LIMITS)
def test_a_limit_of_the_shell_is_a_sentence_that_says_how_to_raise_it(
    number: int, place: str | None, monkeypatch: pytest.MonkeyPatch, capsys: Any, settings: Any
) -> None:
    path = f"{settings.BERTH_DATA_DIR}/x" if place == "data" else place

    def fail(_: CommandLine) -> None:
        raise OSError(number, os.strerror(number), path)

    def refuse(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(sys, "argv", ["manage.py", "say"])
    monkeypatch.setattr(CommandLine, "execute", fail)
    monkeypatch.setattr(os, "open", refuse)
    assert command_line.run() == 1
    assert capsys.readouterr().err == f"{path or 'A file'} cannot be used ({os.strerror(number)}). {LIMITS[number]}\n"


@pytest.mark.parametrize("limit", ["-f 10", "-n 6"])
def test_a_command_in_a_shell_with_a_small_limit_is_a_sentence(limit: str, tmp_path: Path) -> None:
    """Every command broke off with a traceback."""
    done = subprocess.run(
        ["bash", "-c", f'ulimit {limit}; exec "$@"', "bash", sys.executable, "manage.py", "ensure_admin"],
        cwd=ROOT, env={"PATH": "/usr/bin:/bin", "BERTH_DATA_DIR": str(tmp_path)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "Raise this shell's limit on " in done.stderr
