"""The socket proxy in a separate process, as it runs in its container."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.engines import USUAL
from tests.paths import ROOT
from tests.waiting import wait_until


@contextmanager
def socket_proxy(folder: Path, *, instance: str, engine: str = "", **environment: str) -> Iterator[str]:
    """Yields its address, in the format of `DOCKER_HOST`. `engine` is the path of the socket behind it."""
    path = folder / "proxy.sock"
    usual = (os.environ.get("DOCKER_HOST") or USUAL).removeprefix("unix://")
    settings = {"BERTH_INSTANCE": instance, "SOCKET_PROXY_ENGINE": engine or usual, "SOCKET_PROXY_LISTEN": str(path)}
    with (folder / "proxy.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "containers.socket_proxy"],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], **settings, **environment},
            stderr=log,
        )
    try:
        wait_until(lambda: _answers(path), within=30, what=(folder / "proxy.log").read_text)
        yield f"unix://{path}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0
