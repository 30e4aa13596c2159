"""Real servers of the service, in separate processes that may be killed at any moment."""

import http.client
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.chaos import first_site
from tests.chaos.docker_instance import DockerInstance
from tests.chaos.replies import Reply, send
from tests.chaos.stub import STUB_PROJECT
from tests.e2e.service import make_database
from tests.migrated import copy_migrated
from tests.paths import ROOT
from tests.ports import reserve_port
from tests.waiting import wait_until
from tests.without_gateway import WITHOUT_GATEWAY

HANG_GUARD = 240.0


@dataclass
class Site:
    """One installation: a database, an instance on the engine, and any number of server processes."""

    folder: Path
    docker_instance: DockerInstance
    key: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    servers: list["Server"] = field(default_factory=list)
    root: Path = ROOT
    """The checkout whose program is run from now on."""
    prepared_by: str = "tests.chaos.inside.prepare"
    """Creates the database, and prints the key."""

    def __post_init__(self) -> None:
        database = make_database()
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("BERTH_", "DATABASE_", "PYTEST", "COV_"))
        }
        self.environment = kept | {
            **({"DATABASE_URL": database} if database else {}),
            "DJANGO_SETTINGS_MODULE": "tests.chaos.settings",
            "CHAOS_DIR": str(self.folder),
            "BERTH_DATA_DIR": str(self.folder / "var"),
            "BERTH_INSTANCE": self.docker_instance.name,
            "BERTH_VERIFY_CREDENTIALS": "off",
            **WITHOUT_GATEWAY,
        }
        data, is_usual = self.folder / "var", self.prepared_by == Site.prepared_by
        is_copied = not database and self.root == ROOT
        if is_copied and is_usual:
            self.key = first_site.copy(data, image=self.docker_instance.image)
        if self.key:
            return
        if is_copied:
            copy_migrated(data)
        prepared = self.run(self.prepared_by, self.docker_instance.image)
        assert prepared.returncode == 0, prepared.stderr
        self.key = prepared.stdout.strip()
        if is_copied and is_usual:
            first_site.keep(data, self.key)

    def run(self, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.run(
            command, cwd=self.root, env=self.environment, capture_output=True, text=True, timeout=300, check=False
        )

    def serve(self, **environment: str) -> "Server":
        server = Server(self, environment)
        self.servers.append(server)
        server.start()
        return server

    def trigger(self, point: str) -> None:
        (self.folder / "trigger").write_text(point)

    @property
    def is_triggered(self) -> bool:
        """Whether a process has reached the point, and was killed there."""
        return not (self.folder / "trigger").exists()

    @contextmanager
    def holding(self, point: str) -> Iterator[Callable[[], object]]:
        """Stops the next process that reaches the point until the block ends. Yields a function that waits for it."""
        (self.folder / "hold").write_text(point)
        held = self.folder / "held"
        try:
            yield lambda: wait_until(held.exists, within=HANG_GUARD, what=f"No process reached {point}")
        finally:
            (self.folder / "hold").unlink(missing_ok=True)
            held.unlink(missing_ok=True)

    def history(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "history").read_text().splitlines()]

    def close(self) -> None:
        for server in self.servers:
            server.kill()
        if url := self.environment.get("DATABASE_URL", ""):
            with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
                connection.execute(f"DROP DATABASE {url.rpartition('/')[2]} WITH (FORCE)")


class Server:
    arguments: tuple[str, ...] = ("-m", "tests.chaos.inside.serve")

    def __init__(self, site: Site, environment: dict[str, str]) -> None:
        self.site = site
        self.port = reserve_port()
        self._environment = {**site.environment, **environment, "BERTH_PORT": str(self.port)}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self.site.folder / f"server-{self.port}.log"

    def start(self) -> None:
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, *self.arguments],
                cwd=self.site.root, env=self._environment, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip
        self.wait_until_ready()

    def start_again(self) -> None:
        """Starts the server unless it runs."""
        if self._process is None or self._process.poll() is not None:
            self.start()

    def wait_until_ready(self) -> None:
        wait_until(self._is_ready, within=HANG_GUARD, what=self.log.read_text)

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log.read_text()
        return self.call("GET", "/healthz").status == 200

    def kill(self) -> None:
        """`kill -9` of the server and all of its workers at once."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(HANG_GUARD)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        named = {"Content-Type": "application/json", "Authorization": f"Bearer {self.site.key}"}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=data, headers=named, method=method)
        try:
            return send(request, within=HANG_GUARD)
        except (OSError, http.client.HTTPException):
            return Reply(0)

    def create(self, name: str = "Stub", **headers: str) -> Reply:
        return self.call("POST", "/api/projects", STUB_PROJECT | {"name": name}, **headers)

    def control(self, project: str, action: str) -> Reply:
        return self.call("POST", f"/api/projects/{project}/control", {"action": action})

    def delete(self, project: str) -> Reply:
        return self.call("DELETE", f"/api/projects/{project}")

    def forget_claims(self) -> None:
        """Makes every claim of a killed server expire."""
        assert self.call("POST", "/chaos/later").status == 200

    def reconcile(self, *, later: bool = False) -> dict[str, Any]:
        if later:
            self.forget_claims()
        answer = self.call("POST", "/chaos/reconcile")
        assert answer.status == 200, self.log.read_text()[-4000:]
        result: dict[str, Any] = answer.json
        return result
