"""Runs the commands of this package from the tests: a few of their cells, by chance."""

import subprocess
import sys

from tests.paths import ROOT

GUARD = 540.0
TO_END = 60.0
PATIENT = 90.0
"""Seconds for an answer. The long version demands the 30 of the promise; here it must only not hang for ever."""


def try_sample(module: str, *options: str) -> None:
    """Two cells. Fails with the whole output, which holds the seed."""
    command = [sys.executable, "-m", module, "--sample", "2", "--within", str(PATIENT), *options]
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
