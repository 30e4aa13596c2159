"""Runs the commands of this package from the tests: one of their cells, another one for each commit."""

import subprocess
import sys

import pytest

from tests.paths import ROOT

GUARD = 540.0
TO_END = 60.0
PATIENT = 90.0
"""Seconds for an answer. The long version demands the promised 30; here it only must not hang forever."""


def try_sample(module: str, config: pytest.Config, *options: str) -> None:
    """Runs one cell, which the seed of all samples chooses. Fails with the whole output."""
    chosen = ["--sample", "1", "--seed", str(config.getoption("--sample-seed"))]
    command = [sys.executable, "-m", module, *chosen, "--within", str(PATIENT), *options]
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
