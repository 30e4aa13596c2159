"""Ctrl-C at any moment: no traceback, also while modules are read and while Python ends."""

import signal
import subprocess
import sys

import pytest

from config.cli.pack import PROGRAM
from tests.config.test_interrupted_scripts import hear_interrupts

pytestmark = pytest.mark.one_database

PRESSED = """
import atexit, runpy, signal, sys

def press():
    signal.raise_signal(signal.SIGINT)

moment, program, *words = sys.argv[1:]

class Finder:
    def find_spec(self, name, *_):
        if name == moment:
            press()

if moment == "the end":
    atexit.register(press)
sys.meta_path.insert(0, Finder())
sys.argv[:] = ["berth", *words]
runpy.run_path(program, run_name="__main__")
"""
READ_AT_ONCE = [
    "berth_cli", "berth_cli.addresses", "berth_cli.api", "berth_cli.arguments", "berth_cli.contexts",
    "berth_cli.errors", "berth_cli.main", "berth_cli.output", "berth_cli.private_files", "berth_cli.terminal",
    "berth_cli.transport",
]  # fmt: skip


def run(moment: str, *, ignores: bool = False) -> "subprocess.CompletedProcess[str]":
    """Runs a command with Ctrl-C pressed when this module is read, or at the end."""
    return subprocess.run(
        [sys.executable, "-c", PRESSED, moment, str(PROGRAM), "completion", "bash"], capture_output=True, text=True,
        check=False, timeout=60, preexec_fn=ignore_interrupts if ignores else hear_interrupts,
    )  # fmt: skip


def ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def test_every_module_that_is_read_at_once_is_tried() -> None:
    """All others are read within the part of the program that turns errors into sentences."""
    listing = "import sys, berth_cli.main; print(*(name for name in sys.modules if name.startswith('berth_cli')))"
    done = subprocess.run([sys.executable, "-c", listing], cwd=PROGRAM, capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == READ_AT_ONCE


@pytest.mark.sampled(3)
@pytest.mark.parametrize("moment", [*READ_AT_ONCE, "argparse", "berth_cli.completion", "the end"])
def test_no_traceback_is_shown(moment: str) -> None:
    done = run(moment)
    assert done.returncode in (-signal.SIGINT, 130)
    assert done.stderr in ("", "\nInterrupted.\n")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("moment", [*READ_AT_ONCE, "the end"])
def test_a_program_in_the_background_of_a_script_stays_deaf_to_it(moment: str) -> None:
    done = run(moment, ignores=True)
    assert (done.returncode, done.stderr) == (0, "")
