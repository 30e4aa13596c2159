"""Berth as a newcomer gets it: a copy of the checkout in an empty folder, and `make run`."""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import docker
import psycopg

from tests.canaries import CANARY_PASSWORD
from tests.engines import connect
from tests.instances import note_instance
from tests.paths import ROOT
from tests.ports import reserve_port
from tests.waiting import wait_until

EMAIL = "harbour@example.org"
START_LIMIT = 400
"""Seconds for the first `make run`, which installs everything and may have to build the agent image."""


def copy_checkout(target: Path) -> None:
    """What git would clone, as it stands in the work tree, with what Python has compiled of it: that takes seconds."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True,
    ).stdout.decode()  # fmt: skip
    for name in filter(None, listed.split("\0")):
        source = ROOT / name
        if source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)  # with its time, by which Python knows what it has compiled
            compiled = Path(cache_from_source(source))
            if source.suffix == ".py" and compiled.is_file():
                copy = Path(cache_from_source(target / name))
                copy.parent.mkdir(exist_ok=True)
                shutil.copy2(compiled, copy)


def make_database() -> str:
    """A database of the kind that the suite runs on; empty for the embedded one."""
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        return ""
    name = f"berth_e2e_{secrets.token_hex(4)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{url.rsplit('/', 1)[0]}/{name}"


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class Service:
    """Runs `make run` in `checkout`, with its logs in `folder`. Keeps every answer, to search them for canaries."""

    folder: Path
    environment: dict[str, str]
    checkout: Path
    engine: docker.APIClient = field(default_factory=connect)
    said: list[str] = field(default_factory=list)
    process: subprocess.Popen[bytes] | None = None
    runs: int = 0
    command: tuple[str, ...] = ("make", "run")

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.environment['BERTH_PORT']}"

    @property
    def log(self) -> Path:
        return self.folder / f"run-{self.runs}.log"

    def start(self) -> None:
        self.runs += 1
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.checkout, env=self.environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        wait_until(self._is_ready, within=START_LIMIT, what=self.log.read_text, every=0.2)

    def _is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.call("GET", "/readyz").status == 200
        except OSError:
            return False

    def interrupt(self) -> None:
        """Sends Ctrl-C as a terminal does, to the whole process group."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(60)

    def kill(self) -> None:
        """Kills the command with `kill -9`, and with it what it has started. No process listens any more on return."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)
        wait_until(lambda: not self._listens(), within=60, every=0.01)

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", int(self.environment["BERTH_PORT"])), 5).close()
        except OSError:
            return False
        return True

    def interrupt_if_running(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.interrupt()

    def call(self, method: str, path: str, body: Any = None, token: str = "") -> Answer:
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                answer = Answer(response.status, dict(response.headers), response.read().decode())
        except urllib.error.HTTPError as error:
            answer = Answer(error.code, dict(error.headers), error.read().decode())
        self.said.append(f"{answer.headers} {answer.text}" if path != "/api/auth/login" else str(answer.headers))
        return answer

    def manage(self, *arguments: object, fails: bool = False) -> str:
        """Runs a command of `manage.py` and returns what it prints."""
        done = subprocess.run(
            [".venv/bin/python", "manage.py", *map(str, arguments)],
            cwd=self.checkout, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False, timeout=300,
        )  # fmt: skip
        self.said.append(done.stdout)
        assert (done.returncode != 0) is fails, done.stdout
        return done.stdout

    def containers(self) -> dict[str, str]:
        """Returns the state of each container of this instance by its id."""
        chosen = {"label": [f"berth.instance={self.environment['BERTH_INSTANCE']}"]}
        return {each["Id"]: each["State"] for each in self.engine.containers(all=True, filters=chosen)}

    def database_bytes(self) -> bytes:
        """Returns everything that is stored."""
        url = self.environment.get("DATABASE_URL", "")
        if not url:
            files = Path(self.environment["BERTH_DATA_DIR"]).glob("berth.sqlite3*")
            return b"".join(file.read_bytes() for file in files)
        with psycopg.connect(url) as connection:
            names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
            tables = [connection.execute(f'SELECT t::text FROM "{name}" t').fetchall() for (name,) in names]
        return str(tables).encode()


def make_environment(
    folder: Path, *, telegram: str, provider: str, allow: list[str], instance: str = "e2e"
) -> dict[str, str]:
    """The variables that the README's unattended `make run` sets."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("BERTH_", "DATABASE_URL", "PYTEST"))
    }
    kept.pop("DJANGO_SETTINGS_MODULE", None)
    database = make_database()
    return {
        **kept,
        **({"DATABASE_URL": database} if database else {}),
        "BERTH_PORT": str(reserve_port()),
        "BERTH_DATA_DIR": str(folder / "var"),
        "BERTH_INSTANCE": note_instance(f"{instance}-{secrets.token_hex(4)}"),
        "BERTH_ADMIN_EMAIL": EMAIL,
        "BERTH_ADMIN_PASSWORD": CANARY_PASSWORD,
        "BERTH_TELEGRAM_API": telegram,
        "BERTH_PROVIDER_API": provider,
        "BERTH_EGRESS_ALLOW": ",".join(allow),
    }
