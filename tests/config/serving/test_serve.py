"""One command keeps the web server and the watcher, and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import URLError

import pytest

from tests.leftovers import remove_leftovers

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 40


def wait_until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE} s"
        time.sleep(0.05)


def children_of(pid: int) -> set[int]:
    try:
        return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    except (FileNotFoundError, ProcessLookupError):
        return set()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return False


class Served:
    """A running `manage.py serve`, seen from outside."""

    def __init__(self, data: Path, *options: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "DOCKER_HOST") if name in os.environ},
            "BERTH_DATA_DIR": str(data),
            "BERTH_PORT": str(self.port),
            "BERTH_INSTANCE": f"berth-test-{os.getpid()}"[:20],
            "BERTH_ADMIN_PASSWORD": "a-password-of-tests",
            "PYTHONUNBUFFERED": "1",
        }
        self.command("prepare")
        self.log = data / "serve.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "serve", *options],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def command(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def is_up(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5) as answer:
                return bool(answer.status == 200)
        except (URLError, OSError):
            return False

    def wait_until_up(self) -> None:
        wait_until(self.is_up, "the server is up")
        wait_until(lambda: "Watching." in self.log.read_text(), "the watcher is up")

    def web(self) -> int:
        """The web server is the child that has children itself: its workers."""
        return next(child for child in children_of(self.process.pid) if children_of(child))

    def watcher(self) -> int | None:
        others = children_of(self.process.pid) - {self.web()}
        named = [pid for pid in others if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        return named[0] if named else None

    def family(self) -> set[int]:
        children = children_of(self.process.pid)
        return children.union(*(children_of(child) for child in children))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    running = Served(tmp_path, "--announce")
    yield running
    if running.process.poll() is None:
        running.process.kill()
    running.process.wait()
    remove_leftovers(running.environment)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_everything(served: Served, number: signal.Signals) -> None:
    served.wait_until_up()
    family = served.family()
    assert len(family) >= 4  # the web server, two workers, the watcher
    served.process.send_signal(number)
    assert served.process.wait(PATIENCE) == 0
    wait_until(lambda: not any(map(is_alive, family)), "all are gone")


def test_nothing_outlives_a_killed_command(served: Served) -> None:
    served.wait_until_up()
    family = served.family()
    served.process.kill()
    served.process.wait(PATIENCE)
    wait_until(lambda: not any(map(is_alive, family)), "all are gone")


def test_a_dead_watcher_is_started_again(served: Served) -> None:
    served.wait_until_up()
    first = served.watcher()
    assert first is not None
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: served.watcher() not in {None, first}, "another watcher")
    assert served.is_up()


def test_a_dead_web_server_ends_the_command_with_its_exit_code(served: Served) -> None:
    served.wait_until_up()
    family = served.family()
    os.kill(served.web(), signal.SIGKILL)
    assert served.process.wait(PATIENCE) == 128 + signal.SIGKILL
    wait_until(lambda: not any(map(is_alive, family)), "all are gone")


def test_a_port_in_use_is_told_in_one_sentence(served: Served) -> None:
    served.wait_until_up()
    for command in ("serve", "prepare"):
        result = served.command(command)
        assert result.returncode == 1
        assert len(result.stderr.splitlines()) == 1
        assert f"cannot listen on 127.0.0.1:{served.port}" in result.stderr


@pytest.mark.docker
def test_the_welcome_says_where_it_is_and_how_to_sign_in(served: Served) -> None:
    wait_until(lambda: "Berth is ready" in served.log.read_text(), "the welcome")
    welcome = served.log.read_text()
    assert f"http://127.0.0.1:{served.port}" in welcome
    assert "admin@berth.localhost" in welcome
    assert "/sign-in" in welcome
    assert "/api/auth/login" in welcome
