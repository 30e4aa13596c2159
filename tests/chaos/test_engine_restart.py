"""The engine itself ends, gently or not, and comes back: a private one, in a network namespace of its own.

Needs root, `unshare` and `dockerd`. The usual engine is not touched.
"""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest
from rest_framework.test import APIClient

from projects.watcher.watcher import Watcher
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.stub import STUB_PROJECT
from tests.deploying import create_project
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(3600),
    pytest.mark.django_db(transaction=True),
]

MENDED_WITHIN = 35.0


class PrivateEngine:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.url = f"unix://{home}/docker.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it and waits until it answers."""
        options = " ".join(
            f"--{name} {value}"
            for name, value in (
                ("host", self.url),
                ("data-root", self.home / "data"),
                ("exec-root", self.home / "exec"),
                ("pidfile", self.home / "pid"),
            )
        )
        (self.home / "pid").unlink(missing_ok=True)
        with (self.home / "log").open("ab") as output:
            self._process = subprocess.Popen(
                # The mounts that the engine makes go with their namespace.
                ["unshare", "--net", "--mount", "sh", "-c", f"ip link set lo up; exec dockerd {options}"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        wait_until(self._answers, within=90)

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(5)
            try:
                probe.connect(self.url.removeprefix("unix://"))
                probe.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
                return b" 200 " in probe.recv(100)
            except OSError:
                return False

    def end(self, how: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(60)

    def close(self) -> None:
        """A dockerd that was killed leaves its containerd, which the last one has taken over."""
        if self._process is not None and self._process.poll() is None:
            self.end(signal.SIGTERM)
        containerd = self.home / "exec" / "containerd" / "containerd.pid"
        if containerd.exists():
            os.kill(int(containerd.read_text()), signal.SIGTERM)
        shutil.rmtree(self.home, ignore_errors=True)


@pytest.fixture(scope="module")
def private() -> Iterator[PrivateEngine]:
    # A Unix socket's path has to be short.
    engine = PrivateEngine(Path(mkdtemp(prefix="bd-")))
    try:
        engine.start()
        yield engine
    finally:
        engine.close()


@pytest.fixture(scope="module")
def docker_instance(private: PrivateEngine) -> Iterator[DockerInstance]:
    made = DockerInstance(private.url)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_an_engine_that_ends_and_comes_back(
    how: signal.Signals,
    private: PrivateEngine,
    docker_instance: DockerInstance,
    real_engine: Callable[[str], None],
    api: APIClient,
    watcher: Callable[[], Watcher],
) -> None:
    real_engine(private.url)
    create_project(api, STUB_PROJECT | {"name": "up"})
    down = create_project(api, STUB_PROJECT | {"name": "down"}).id
    assert api.post(f"/api/projects/{down}/control", {"action": "stop"}).status_code == 200

    def statuses() -> dict[str, str]:
        return {project["name"]: project["status"] for project in api.get("/api/projects").json()}

    watcher()
    for _ in range(3):
        wait_until(lambda: statuses() == {"up": "running", "down": "stopped"}, within=MENDED_WITHIN)
        private.end(how)
        wait_until(lambda: statuses() == {"up": "unknown", "down": "unknown"}, within=MENDED_WITHIN)
        assert api.post(f"/api/projects/{down}/control", {"action": "start"}).status_code == 503
        private.start()
        wait_until(lambda: statuses() == {"up": "running", "down": "stopped"}, within=MENDED_WITHIN)
        states = docker_instance.containers()
        assert sorted(states.values()) == ["exited", "running"]
