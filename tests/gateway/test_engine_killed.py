"""The engine is killed while a bot answers through the gateway: a sample. In full: tests/gateway/long/whole.py."""

import shutil
import subprocess
import sys

import pytest

from containers.programs import is_root
from tests.engines import connect
from tests.gateway.image import ensure_gateway_image
from tests.paths import ROOT

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.rare(6),
    pytest.mark.skipif(
        not (is_root() and all(map(shutil.which, ("dockerd", "docker", "unshare")))),
        reason="takes root, and dockerd for an engine of its own",
    ),
]


def test_no_message_is_lost_and_at_most_one_is_answered_twice() -> None:
    client = connect()
    ensure_gateway_image(client)
    client.close()
    command = [sys.executable, "-m", "tests.gateway.long.engine_killed", "--kills", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
