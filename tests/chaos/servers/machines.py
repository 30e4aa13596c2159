"""Servers as on separate machines: with other names, other process ids and other data directories."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

from tests.certificates import Authority
from tests.chaos.database.postgres import PrivatePostgres
from tests.chaos.docker_instance import DockerInstance
from tests.config.serving.served import children_of, is_alive
from tests.fakes.faulty_docker import FaultyDocker
from tests.paths import ROOT
from tests.ports import reserve_port
from tests.waiting import wait_until
from tests.without_gateway import WITHOUT_GATEWAY

PATIENCE = 240.0
PROGRAM = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin") or ""
HOST = "berth.example.org"
KEYS = {
    "BERTH_SECRET_KEY": "the secret key of both machines, which is long enough",
    "BERTH_TOKEN_KEY": "the token key of both machines, which is long enough",
    "BERTH_ENCRYPTION_KEYS": "yqHgVuTjr7w9Ecn8sEjRrpWEsRFcsKAXk1ShUsf9YwI=",
}


class Machine:
    """A `manage.py serve` with its own way to the engine. It sees neither processes nor name of another one."""

    def __init__(self, name: str, folder: Path, environment: dict[str, str]) -> None:
        self.name, self.port = name, reserve_port()
        self.log = folder / f"{name}.log"
        (data := folder / name).mkdir(mode=0o700)
        self.docker = FaultyDocker(folder / f"{name}.sock")
        self.environment = environment | {"BERTH_DATA_DIR": str(data), "DOCKER_HOST": self.docker.url}
        self.environment["BERTH_PORT"] = str(self.port)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        inside = 'hostname "$1" && shift && exec "$@"'
        apart = ["unshare", "--uts", "--pid", "--mount-proc", "--fork", "--kill-child=SIGKILL"]
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                [*apart, "sh", "-c", inside, "sh", self.name, sys.executable, "manage.py", "serve"],
                cwd=ROOT, env=self.environment, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip
        wait_until(lambda: self.ask("/readyz/server") == 200, within=PATIENCE, what=self.log.read_text)

    def ask(self, path: str) -> int:
        """Returns the status, or 0 without an answer."""
        assert self._process is not None
        assert self._process.poll() is None, self.log.read_text()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code
        except OSError:
            return 0

    @property
    def first(self) -> int:
        """Its process 1, by its id here."""
        assert self._process is not None
        [inside] = children_of(self._process.pid)
        return inside

    @property
    def place(self) -> str:
        """The part of its processes' names that no other machine has."""
        return str(Path(f"/proc/{self.first}/ns/pid").stat().st_ino)

    def family(self) -> list[int]:
        for pid in (found := [self.first]):
            found += children_of(pid)
        return found

    def describe(self) -> str:
        """Returns what its processes do, with the seconds of processor time that each has had."""
        if self._process is None or self._process.poll() is not None:
            return "does not run"
        return ", ".join(_describe_process(pid) for pid in self.family())

    def kill(self) -> None:
        """Kills everything at once: with its process 1 the kernel ends all others."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Stops as a service manager does, and waits for the end."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        family = self.family()
        os.kill(self.first, number)
        self._process.wait(PATIENCE)
        wait_until(lambda: not any(map(is_alive, family)), within=PATIENCE, what="Some live on")

    def freeze(self) -> None:
        for pid in self.family():
            os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        for pid in self.family():
            os.kill(pid, signal.SIGCONT)


def _describe_process(pid: int) -> str:
    try:
        state, *numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return f"{pid} has ended"
    seconds = (int(numbers[10]) + int(numbers[11])) / os.sysconf("SC_CLK_TCK")
    return f"{pid} {state} {seconds:.1f} s"


class Nginx:
    """nginx with the example of the documents, except addresses, ports and the certificate."""

    def __init__(self, folder: Path, *, servers: list[int], authority: Authority) -> None:
        self.folder, self.port = folder / "nginx", reserve_port()
        self.folder.mkdir()
        text = (ROOT / "docs/proxies/nginx.conf").read_text()
        for address, port in zip(("10.0.0.11:8000", "10.0.0.12:8000"), servers, strict=True):
            assert address in text
            text = text.replace(address, f"127.0.0.1:{port}")
        text = text.replace("listen 80;", f"listen 127.0.0.1:{reserve_port()};")
        text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{self.port} ssl;")
        text = text.replace("/etc/ssl/berth.example.org.pem", str(authority.certificate))
        text = text.replace("/etc/ssl/private/berth.example.org.key", str(authority.key))
        temporary = "".join(
            f"{kind}_temp_path {self.folder}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )  # fmt: skip
        (self.folder / "nginx.conf").write_text(
            f"daemon off;\npid {self.folder}/pid;\nerror_log {self.folder}/error.log warn;\nevents {{}}\n"
            f"http {{\naccess_log off;\n{temporary}{text}\n}}\n"
        )
        self._process: subprocess.Popen[bytes] | None = None

    def check(self) -> None:
        done = subprocess.run([*self._command, "-t"], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr

    @property
    def _command(self) -> list[str]:
        return [PROGRAM, "-p", str(self.folder), "-e", f"{self.folder}/error.log", "-c", f"{self.folder}/nginx.conf"]

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self._listens, within=PATIENCE, what="nginx does not listen")

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 5).close()
        except OSError:
            return False
        return True

    def errors(self) -> str:
        """Returns the errors between it and the servers, and their numbers."""
        lines = (self.folder / "error.log").read_text().splitlines()
        causes = Counter(line.partition("*")[2].partition(" ")[2].partition(", client")[0] for line in lines)
        return f"{causes}\n" + "\n".join(lines[-20:])

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE)


def make_environment(folder: Path, postgres: PrivatePostgres, docker_instance: DockerInstance) -> dict[str, str]:
    """The settings of both machines. In `CHAOS_DIR` the hooks of the tests record which process held which project."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("BERTH_", "DATABASE_", "PYTEST", "COV_"))
    }
    return kept | KEYS | WITHOUT_GATEWAY | {
        "DATABASE_URL": postgres.url,
        "DJANGO_SETTINGS_MODULE": "tests.chaos.settings",
        "CHAOS_DIR": str(folder),
        "BERTH_INSTANCE": docker_instance.name,
        "BERTH_PUBLIC_URL": f"https://{HOST}",
        "BERTH_TRUSTED_PROXIES": "1",
        "BERTH_VERIFY_CREDENTIALS": "off",
        "BERTH_WORKERS": "1",
        "BERTH_THREADS": "4",  # the database accepts few connections
        "BERTH_DRAIN_SECONDS": "1",
    }  # fmt: skip
