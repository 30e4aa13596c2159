"""A running `manage.py serve`, seen from outside: its log, its port and its processes."""

import atexit
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from urllib.error import URLError

from tests.instances import note_instance
from tests.leftovers import remove_leftovers
from tests.migrated import copy_migrated
from tests.paths import ROOT
from tests.ports import reserve_port
from tests.waiting import wait_until
from tests.without_gateway import WITHOUT_GATEWAY

PATIENCE = 120.0
"""Seconds after which a start, an end or an answer counts as hanging."""

WORKERS = 2
"""Workers of the web server, by default."""


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


@cache
def prepared() -> Path:
    """A data directory after `prepare`, to be copied, because preparing one takes seconds."""
    folder = Path(mkdtemp(prefix="berth-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copy_migrated(folder)
    Installed(folder).prepare()
    return folder


class Installed:
    """Runs the commands of a separate installation."""

    def __init__(self, data: Path, **environment: str) -> None:
        self.port = reserve_port()
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "DOCKER_HOST") if name in os.environ},
            "BERTH_DATA_DIR": str(data),
            "BERTH_PORT": str(self.port),
            "BERTH_INSTANCE": note_instance(f"berth-test-{os.getpid()}"[:20]),
            "BERTH_ADMIN_PASSWORD": "a-password-of-tests",
            "PYTHONUNBUFFERED": "1",
            **WITHOUT_GATEWAY,
            **environment,
        }

    def prepare(self) -> None:
        prepared = self.command("prepare")
        assert prepared.returncode == 0, prepared.stderr

    def command(self, *arguments: str, within: float = PATIENCE) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=within,
            check=False,
        )


class Served(Installed):
    """An installation whose server runs."""

    def __init__(self, data: Path, *options: str, **environment: str) -> None:
        super().__init__(data, **environment)
        if any(name.startswith(("BERTH_", "DATABASE_")) for name in environment):
            options = ("--prepare", *options)
        else:
            shutil.copytree(prepared(), data, dirs_exist_ok=True)
        self.log = data / "serve.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "serve", *options],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def is_up(self, *, within: float = PATIENCE) -> bool:
        """Returns whether it answers within this many seconds."""
        assert self.process.poll() is None, self.log.read_text()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=within) as answer:
                return bool(answer.status == 200)
        except (URLError, OSError):
            return False

    def wait_until_up(self) -> None:
        wait_until(self.is_up, within=PATIENCE, what=self.log.read_text)
        self.wait_for_line("Watching.")
        wait_until(lambda: len(children_of(self.web)) == WORKERS, within=PATIENCE, what=self.log.read_text)

    def wait_for_line(self, text: str) -> None:
        wait_until(lambda: text in self.log.read_text(), within=PATIENCE, what=self.log.read_text)

    def processes(self, name: str) -> list[int]:
        """Returns the ids of the processes that the log says were started under this name, the latest last."""
        return [int(pid) for pid in re.findall(rf"Started the {name}, process (\d+)\.", self.log.read_text())]

    @property
    def web(self) -> int:
        return self.processes("web server")[-1]

    @property
    def watcher(self) -> int:
        return self.processes("watcher")[-1]

    def family(self) -> set[int]:
        children = children_of(self.process.pid)
        return children.union(*(children_of(child) for child in children))

    def wait_until_gone(self, family: set[int]) -> None:
        wait_until(lambda: not any(map(is_alive, family)), within=PATIENCE, what=f"Some of {family} live on")


@contextmanager
def serving(folder: Path, *options: str, **environment: str) -> Iterator[Served]:
    """Runs a server, which is killed at the end unless the test has ended it."""
    running = Served(folder, *options, **environment)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
        running.process.wait()
        remove_leftovers(running.environment)
