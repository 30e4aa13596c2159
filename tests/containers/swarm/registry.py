"""A registry of Debian's package docker-registry, on the bridge between the nodes of a cluster, with a password."""

import base64
import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.containers.swarm.cluster import Cluster
from tests.containers.swarm.hub import SUBNET
from tests.waiting import wait_until

ADDRESS = f"{SUBNET}.254:5000"
USER, PASSWORD = "canary-user", "canary-of-the-registry"
_HTPASSWD = f"{USER}:$2b$04$abcdefghijklmnopqrstuujNG9TNvp2wzcl5tPae97bvCqUFA1Bzu\n"

_CONFIG = """version: 0.1
log: {{level: warn, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {home}/images}}, delete: {{enabled: true}}}}
http: {{addr: "{address}"}}
auth: {{htpasswd: {{realm: tests, path: {home}/htpasswd}}}}
"""


@contextmanager
def registry(cluster: Cluster, home: Path) -> Iterator[None]:
    """Skips the test if `docker-registry` is not installed."""
    program = shutil.which("docker-registry")
    if program is None:
        pytest.skip("docker-registry is not here: `make test` gets it from Debian's package.")
    (home / "htpasswd").write_text(_HTPASSWD)
    (home / "config.yml").write_text(_CONFIG.format(home=home, address=ADDRESS))
    command = cluster.in_hub(program, "serve", str(home / "config.yml"))
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_until(lambda: _answers(cluster), within=60, what=(home / "log").read_text)
        yield
    finally:
        process.kill()
        process.wait()


def _answers(cluster: Cluster) -> bool:
    with suppress(OSError), cluster.open_socket(socket.AF_INET) as probe:
        host, _, port = ADDRESS.partition(":")
        probe.settimeout(5)
        probe.connect((host, int(port)))
        probe.sendall(b"GET /v2/ HTTP/1.0\r\n\r\n")
        return b" 401 " in probe.recv(100)
    return False


def write_login(folder: Path, password: str = PASSWORD) -> None:
    """Writes what `docker login` stores in the folder that DOCKER_CONFIG names."""
    word = base64.b64encode(f"{USER}:{password}".encode()).decode()
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"auths": {ADDRESS: {"auth": word}}}))
