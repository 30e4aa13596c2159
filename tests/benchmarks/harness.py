"""A real server on a port and a database of its own, a client with one connection, and tables of medians."""

import json
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from tests.leftovers import remove_leftovers
from tests.migrated import copy_migrated
from tests.paths import ROOT
from tests.ports import reserve_port
from tests.waiting import wait_until
from tests.without_gateway import WITHOUT_GATEWAY

EMAIL, PASSWORD = "bench@example.org", "benchmark-password-7"
SETUP = """
from projects.models import AgentType, Plan
Plan.objects.create(slug="bench", memory_mb=64, cpus="0.25", max_projects=100000, open_to_all=True)
AgentType.objects.create(slug="stub", title="Stub", image={image!r}, min_memory_mb=32, stop_timeout=10)
"""


CLIENTS = """
from django.conf import settings
from accounts.models import Scope, User
from accounts.services.api_keys import issue_api_key
for number in range({count}):
    file = settings.BERTH_DATA_DIR / f"client-key-{{number}}"
    if not file.exists():
        user = User.objects.create_user(f"client-{{number}}@example.org")
        file.write_text(issue_api_key(user=user, session=None, name="bench", scope=Scope.WRITE, lifetime_days=None)[1])
"""


class UnexpectedAnswerError(SystemExit):
    """The server answers otherwise than a benchmark needs, which would measure something else. So it ends, with one
    sentence.
    """


@dataclass(frozen=True)
class Server:
    port: int
    instance: str
    environment: dict[str, str]
    root: Path = ROOT
    process: "subprocess.Popen[bytes] | None" = None

    def connect(self) -> "Client":
        return Client(self.port)

    def stop(self) -> None:
        """Ends the service. Its agents go on."""
        assert self.process
        self.process.terminate()
        self.process.wait(60)

    def connect_users(self, count: int) -> "list[Client]":
        """That many users, because the service limits how many commands of one user it carries out at a time."""
        manage(self, "shell", "--no-imports", "-c", CLIENTS.format(count=count))
        folder = Path(self.environment["BERTH_DATA_DIR"])
        return [Client(self.port, (folder / f"client-key-{number}").read_text()) for number in range(count)]


class Client:
    """One keep-alive connection, signed in."""

    def __init__(self, port: int, key: str = "") -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Content-Type": "application/json"}
        key = key or self.ask("POST", "/api/auth/login", {"email": EMAIL, "password": PASSWORD}, 200)["token"]
        self._headers["Authorization"] = f"Bearer {key}"

    def connect_anew(self) -> None:
        """For a client that may have waited longer than the server keeps an idle connection."""
        self._connection.close()
        self._connection.connect()

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        self._connection.request(method, path, None if body is None else json.dumps(body), self._headers)
        response = self._connection.getresponse()
        content = response.read()
        return response.status, json.loads(content) if content else None

    def ask(self, method: str, path: str, body: Any, *expected: int) -> Any:
        """Raises `UnexpectedAnswerError` if the status is not one of those."""
        status, answer = self.call(method, path, body)
        if status not in expected:
            said = answer.get("detail", "") if isinstance(answer, dict) else ""
            raise UnexpectedAnswerError(f"{method} {path} was answered {status}. {said}".strip())
        return answer


@contextmanager
def serving(
    *, image: str = "berth/assistant:latest", environment: Mapping[str, str] | None = None, root: Path = ROOT
) -> Iterator[Server]:
    """`manage.py serve` of a checkout, prepared here; it is ended and removed on exit."""
    with tempfile.TemporaryDirectory(prefix="berth-bench-") as folder:
        port = reserve_port()
        server = Server(port, f"bench-{secrets.token_hex(4)}", {}, root)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("BERTH_")}
        server.environment.update(
            kept,
            DJANGO_SETTINGS_MODULE="tests.benchmarks.settings",
            BERTH_DATA_DIR=f"{folder}/var",
            BERTH_PORT=str(port),
            BERTH_INSTANCE=server.instance,
            BERTH_VERIFY_CREDENTIALS="off",
            BERTH_ADMIN_EMAIL=EMAIL,
            BERTH_ADMIN_PASSWORD=PASSWORD,
            **(WITHOUT_GATEWAY | dict(environment or {})),
        )
        if root == ROOT and "DATABASE_URL" not in kept:
            copy_migrated(Path(folder, "var"))
        manage(server, "prepare")
        manage(server, "shell", "--no-imports", "-c", SETUP.format(image=image))
        process = start(server, Path(folder, "log"))
        try:
            wait_for_answer(port, process, Path(folder, "log"))
            yield replace(server, process=process)
        finally:
            replace(server, process=process).stop()
            remove_leftovers({**server.environment, "DOCKER_HOST": os.environ.get("DOCKER_HOST", "")})


def manage(server: Server, *arguments: str) -> None:
    command = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(command, cwd=server.root, env=server.environment, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"manage.py {arguments[0]} failed:\n{done.stderr}")


def start(server: Server, log: Path, *options: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "manage.py", "serve", *options]
    with log.open("w") as file:
        return subprocess.Popen(command, cwd=server.root, env=server.environment, stdout=file, stderr=file)


def wait_for_answer(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    def answers() -> bool:
        if process.poll() is not None:
            raise SystemExit(f"The server does not start:\n{log.read_text()}")
        connection = HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    wait_until(answers, within=120, what=log.read_text)


def timed(act: Callable[[], Any]) -> tuple[float, Any]:
    """The milliseconds it took, and its result."""
    began = time.perf_counter()
    result = act()
    return (time.perf_counter() - began) * 1000, result


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def median_ratio(ours: list[float], raw: list[float]) -> tuple[float, float, float]:
    """Quartiles of the ratios of the pairs: the machine's speed drifts, but equally for both of a pair."""
    ratios = sorted(a / b for a, b in zip(ours, raw, strict=True))
    low, middle, high = statistics.quantiles(ratios, n=4)
    return low, middle, high


def print_row(*cells: object) -> None:
    sys.stdout.write("".join(f"{cell!s:>18}" for cell in cells) + "\n")
    sys.stdout.flush()
