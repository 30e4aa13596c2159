"""The programs accept the examples of proxies."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.certificates import make_authority
from tests.chaos.servers.machines import PROGRAM, Nginx
from tests.paths import ROOT


@pytest.mark.skipif(not PROGRAM, reason="nginx is not installed")
def test_nginx_accepts_its_example(tmp_path: Path) -> None:
    """`tests/chaos/servers` uses it."""
    Nginx(tmp_path, servers=[8001, 8002], authority=make_authority(tmp_path)).check()


@pytest.mark.skipif(not shutil.which("caddy"), reason="caddy is not installed")
def test_caddy_accepts_its_example() -> None:
    command = ["caddy", "adapt", "--config", str(ROOT / "docs/proxies/Caddyfile"), "--adapter", "caddyfile"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 or "unrecognized subdirective request_buffers" in done.stderr, done.stderr
