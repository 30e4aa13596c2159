"""The command that makes the table works. Its figures mean nothing here and are not asserted."""

import subprocess
import sys
from typing import Any, cast

import pytest

from tests.benchmarks import load, reads_table
from tests.benchmarks.harness import UnexpectedAnswerError
from tests.paths import ROOT

pytestmark = [pytest.mark.one_database, pytest.mark.docker]

SHORT = (
    "--rounds", "1", "--seconds", "0.1", "--connections", "2", "--projects", "25", "--deploys", "1", "--rows", "1200",
    "--commands", "1", "--at-once", "1", "--others", "0",
)  # fmt: skip
ROWS = (
    "list of 25", "page of 20", "unchanged list", "detail", "session", "list of 1", "list of 1000", "/healthz",
    "page ÷ whole list", "list, 1 deploys", "list, 1200 rows", "process", "supervisor", "child 1", "all of them",
    "command", "deploy", "stop", "start", "restart", "delete", "once more",
)  # fmt: skip


@pytest.mark.rare(8)
def test_the_table_has_every_row() -> None:
    command = [sys.executable, "-m", "tests.benchmarks", *SHORT]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    head, titles, *rows = done.stdout.splitlines()
    assert "processors" in head
    assert "÷ bare" in titles
    names = [row[:18].strip() for row in rows]
    assert [name for name in names if name in ROWS] == [*ROWS], done.stdout


def test_a_refused_client_ends_the_benchmark_with_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise UnexpectedAnswerError("POST /api/projects was answered 429.")

    class Server:
        def connect_users(self, count: int) -> list[None]:
            return [None] * count

    monkeypatch.setattr(reads_table, "api_round", refuse)
    with pytest.raises(SystemExit, match="was answered 429"), reads_table.deploying(cast(Any, Server()), clients=2):
        pass


def test_the_output_of_wrk_is_parsed() -> None:
    said = "     50%    1.50ms\n     75%   10.00ms\n     99%    1.46s \n"
    assert (load._latency(said, "50%"), load._latency(said, "99%")) == (1.5, 1460.0)
