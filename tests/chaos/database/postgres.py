"""A PostgreSQL of a test's own, which the test may end, freeze and restart. No other one is touched."""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import psycopg

from tests.chaos.memory_disk import MemoryDisk
from tests.config.serving.served import children_of, is_alive
from tests.ports import reserve_port
from tests.waiting import wait_until

MOST_CONNECTIONS = 150


def find_programs() -> Path | None:
    """Returns the directory of `initdb` and `postgres`, of the newest version if there are several."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    on_path = shutil.which("initdb")
    return found[-1] if found else Path(on_path).parent if on_path else None


class PrivatePostgres:
    def __init__(self, home: Path, *, disk: str = "") -> None:
        """With `disk`, a size such as "200m", its files are on a file system of their own, which can be filled."""
        programs = find_programs()
        assert programs is not None, "PostgreSQL is not installed."
        self._programs = programs
        self._data, self._log = home / "postgres", home / "postgres.log"
        self.port = reserve_port()
        self.environment: dict[str, str] = {}
        """Added to this process's environment from its next start on, and only as the other user: libfaketime begins
        with a semaphore that belongs to the user of that moment."""
        self._process: subprocess.Popen[bytes] | None = None
        # It refuses to run as root, whose directories others cannot enter.
        self._as_postgres = []
        self.disk: MemoryDisk | None = None
        if os.geteuid() == 0:
            self._as_postgres = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            self._data = Path("/tmp") / f"berth-postgres-{os.getpid()}-{self.port}"
            self._data.mkdir(mode=0o700)
            self.disk = MemoryDisk(self._data, disk) if disk else None
            shutil.chown(self._data, "postgres", "postgres")
        self._run("initdb", "-D", str(self._data), "-U", "berth", "-A", "trust", "-E", "UTF8", "--no-sync")

    @property
    def url(self) -> str:
        return f"postgresql://berth@127.0.0.1:{self.port}/postgres"

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url, autocommit=True, connect_timeout=60)

    def execute(self, statement: str) -> None:
        with self.connect() as connection:
            connection.execute(statement.encode())

    def start(self) -> None:
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                [
                    *self._as_postgres, "env", *(f"{name}={value}" for name, value in self.environment.items()),
                    str(self._programs / "postgres"), "-D", str(self._data), "-p", str(self.port),
                    "-k", str(self._data), "-c", "listen_addresses=127.0.0.1",
                    "-c", f"max_connections={MOST_CONNECTIONS}", "-c", "fsync=off", "-c", "full_page_writes=off",
                    "-c", "max_wal_size=64MB",
                ],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        wait_until(self._answers, within=90, what=self._log.read_text)

    def start_again(self) -> None:
        """Starts it unless it runs."""
        if self._process is None or self._process.poll() is not None:
            self.start()

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text()
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def end(self, how: signal.Signals) -> None:
        """SIGINT is a fast shutdown, SIGKILL a crash."""
        assert self._process is not None
        backends = children_of(self._process.pid)
        self._process.send_signal(how)
        self._process.wait(90)
        wait_until(lambda: not any(map(is_alive, backends)), within=90, what="Backends live on")

    def freeze(self) -> None:
        """The kernel keeps accepting connections, and nobody answers."""
        for pid in self._family():
            os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        for pid in self._family():
            os.kill(pid, signal.SIGCONT)

    def _family(self) -> set[int]:
        assert self._process is not None
        return {self._process.pid} | children_of(self._process.pid)

    def make_standby(self) -> None:
        """From its next start on it follows a silent primary, and accepts no changes."""
        (self._data / "standby.signal").touch()

    def promote(self) -> None:
        self.execute("SELECT pg_promote()")

    def _run(self, program: str, *arguments: str) -> None:
        command = [*self._as_postgres, str(self._programs / program), *arguments]
        subprocess.run(command, check=True, capture_output=True, timeout=300)

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.thaw()
            self.end(signal.SIGINT)
        if self.disk is not None:
            self.disk.close()
        shutil.rmtree(self._data, ignore_errors=True)
