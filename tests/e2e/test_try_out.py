"""The command with which somebody tries a change by hand."""

import subprocess
import sys

import pytest

from tests.engines import connect
from tests.try_out import ROOT

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]


def test_it_prints_the_answer_of_a_real_agent_and_leaves_nothing_behind() -> None:
    command = [sys.executable, "-m", "tests.try_out", "--say", "Is the tide in?"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    assert "Is the tide in?" in done.stdout.splitlines()[-1]
    client = connect()
    try:
        mine = [network["Name"] for network in client.networks() if network["Name"].startswith("try-")]
    finally:
        client.close()
    assert mine == []
