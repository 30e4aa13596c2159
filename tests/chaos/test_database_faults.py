"""A few of the cells of `tests.chaos.database.cells`, by chance: two faults, under every kind of request."""

import subprocess
import sys

import pytest

from tests.chaos.database.postgres import find_programs
from tests.paths import ROOT

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(find_programs() is None, reason="PostgreSQL is not installed."),
]

GUARD = 540.0
TO_END = 60.0
PATIENT = 90.0
"""Seconds for an answer. The long version demands the 30 of the promise; here it must only not hang for ever."""


def test_every_kind_of_request_survives_some_faults_of_the_database() -> None:
    """The seed is in the output: `python -m tests.chaos.database.cells --sample 2 --seed …` takes the same ones."""
    command = [sys.executable, "-m", "tests.chaos.database.cells", "--sample", "2", "--within", str(PATIENT)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        try:
            output, _ = running.communicate(timeout=GUARD)
        finally:
            if running.poll() is None:
                running.terminate()
                try:
                    running.wait(TO_END)
                except subprocess.TimeoutExpired:
                    running.kill()
    assert running.returncode == 0, output
