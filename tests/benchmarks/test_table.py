"""The command that makes the table works. What it measures here says nothing, and is not asserted."""

import subprocess
import sys

import pytest

from tests.benchmarks import load
from tests.paths import ROOT

pytestmark = [pytest.mark.one_database, pytest.mark.docker]


def test_the_table_has_a_row_for_each_read() -> None:
    command = [sys.executable, "-m", "tests.benchmarks", "--rounds", "1", "--seconds", "1", "--projects", "25"]
    done = subprocess.run(
        [*command, "--deploys", "0"], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    head, titles, *rows = done.stdout.splitlines()
    assert "processors" in head
    assert "÷ bare" in titles
    names = ("list of 25", "page of 20", "unchanged list", "detail", "session", "list of 1", "list of 1000", "/healthz")
    assert [row.strip().startswith(name) for row, name in zip(rows, names, strict=True)] == [True] * len(names)


def test_what_wrk_says_is_understood() -> None:
    said = "     50%    1.50ms\n     75%   10.00ms\n     99%  250.00us\n"
    assert (load._latency(said, "50%"), load._latency(said, "99%")) == (1.5, 0.25)
