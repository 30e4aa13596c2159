"""Windows and macOS, simulated: what the program takes from the system, and calls that have another name there."""

import errno
import io
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from berth_cli import private_files
from berth_cli.contexts import Context, change_contexts, read_contexts
from berth_cli.errors import BROKEN_PIPE, CommandError, UsageError
from berth_cli.terminal import paint, prepare_streams
from config.cli.pack import PROGRAM
from tests.config.cli.conftest import Berth

pytestmark = pytest.mark.one_database

ELSEWHERE_ALONE = (
    "fcntl", "grp", "posix_ipc", "pty", "pwd", "readline", "resource", "spwd", "syslog", "termios", "tty",
)  # fmt: skip
"""Modules that Windows does not have."""

IMPORT_ALL = f"""
import sys
sys.modules.update(dict.fromkeys({ELSEWHERE_ALONE!r}))
import importlib, pkgutil, berth_cli
for module in pkgutil.iter_modules(berth_cli.__path__):
    importlib.import_module("berth_cli." + module.name)
from berth_cli.main import run
raise SystemExit(run(["completion", "bash"]))
"""


class Locks:
    """A replacement for msvcrt."""

    LK_LOCK, LK_UNLCK = 1, 0

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.is_taken = False

    def locking(self, _descriptor: int, mode: int, _size: int) -> None:
        self.asked.append(mode)
        if self.is_taken:
            raise OSError(errno.EDEADLK, "Resource deadlock avoided")


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Locks:
    """Makes the modules see Windows. `os.name` is replaced only for them, because paths are those of this system."""
    locks = Locks()
    monkeypatch.setitem(sys.modules, "msvcrt", locks)
    monkeypatch.setattr(private_files, "_ON_WINDOWS", True)
    monkeypatch.setattr(private_files, "sys", SimpleNamespace(platform="win32", stdin=sys.stdin))
    for module in ("contexts", "main", "terminal"):
        monkeypatch.setattr(f"berth_cli.{module}.os", SimpleNamespace(**vars(os) | {"name": "nt"}))
    monkeypatch.setenv("APPDATA", str(tmp_path / "Roaming"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "of elsewhere"))
    return locks


def test_the_program_runs_without_modules_missing_on_windows() -> None:
    command = [sys.executable, "-S", "-c", IMPORT_ALL]
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(PROGRAM)}, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_settings_are_in_the_windows_folder_and_changed_by_one_process_at_a_time(
    windows: Locks, tmp_path: Path
) -> None:
    home = Context(name="home", url="https://berth.example", token="berth_x")
    change_contexts(lambda contexts: replace(contexts, known={"home": home}))
    assert read_contexts().known == {"home": home}
    assert (tmp_path / "Roaming" / "berth").is_dir()
    assert not (tmp_path / "of elsewhere").exists()
    assert windows.asked == [Locks.LK_LOCK, Locks.LK_UNLCK]
    windows.is_taken = True
    with pytest.raises(CommandError, match="Another berth"):
        change_contexts(lambda contexts: contexts)


def test_a_missing_windows_folder_is_reported_with_its_variable(
    windows: Locks, monkeypatch: pytest.MonkeyPatch
) -> None:
    def have_no_home() -> Path:
        raise RuntimeError

    monkeypatch.delenv("APPDATA")
    monkeypatch.setattr("berth_cli.private_files.Path.home", have_no_home)
    with pytest.raises(UsageError, match="Set APPDATA"):
        private_files.settings_folder()


def test_a_byte_order_mark_is_not_part_of_a_secret(windows: Locks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfsk-secret\r\n"), encoding="cp1252"))
    prepare_streams()
    monkeypatch.setattr("berth_cli.private_files.sys.stdin", sys.stdin)
    assert private_files.read_secret("-", what="the API key") == "sk-secret"


def test_a_closed_pipe_is_no_fault(
    windows: Locks, berth: Berth, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def write_to_nobody(*_: Any) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr("berth_cli.main._begin", write_to_nobody)
    monkeypatch.setattr("berth_cli.main._end_pipe", lambda: BROKEN_PIPE)
    done = berth("list")
    assert (done.code, done.err) == (BROKEN_PIPE, "")


def test_colours_are_for_terminals_that_know_them(windows: Locks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for variable in ("TERM", "WT_SESSION", "NO_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    assert paint("running", "32") == "running"
    monkeypatch.setenv("WT_SESSION", "1")
    assert paint("running", "32") == "\x1b[32mrunning\x1b[0m"
