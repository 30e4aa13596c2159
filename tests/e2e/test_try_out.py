"""The command for trying a change by hand."""

import os
import subprocess
import sys

import pytest

from tests.engines import connect
from tests.paths import ROOT

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600), pytest.mark.rare(2)]


@pytest.mark.rare(1)
def test_it_prints_the_answer_of_a_real_agent_and_leaves_nothing_behind() -> None:
    command = [sys.executable, "-m", "tests.try_out", "--say", "Is the tide in?"]
    by_hand = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}  # pytest sets it
    done = subprocess.run(command, cwd=ROOT, env=by_hand, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    assert "Is the tide in?" in done.stdout.splitlines()[-1]
    client = connect()
    try:
        mine = [network["Name"] for network in client.networks() if network["Name"].startswith("try-")]
    finally:
        client.close()
    assert mine == []
