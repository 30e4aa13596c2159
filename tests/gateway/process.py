"""The gateway as a process, started as in its container, and the control side's end of its socket."""

import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Self

from cryptography.fernet import Fernet

from tests.ports import reserve_port
from tests.waiting import wait_until

PATIENCE = 100.0
COUNTS = ("messages", "requests", "errors", "estimated", "input", "output", "cached", "money")


def digest(credential: str) -> str:
    return hashlib.sha256(credential.encode()).hexdigest()


class Gateway:
    """`image` contains the files of the image, `folder` the gateway's mounts."""

    def __init__(self, image: Path, folder: Path) -> None:
        self.folder = folder
        self.port = reserve_port()
        self.lines: list[str] = []
        self.python = sys.executable
        self.version = 0
        (folder / "key").write_text(Fernet.generate_key().decode())
        self.env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(image),
            "GATEWAY_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(self.port),
            "GATEWAY_STATE": str(folder / "state"),
            "GATEWAY_SOCKET": str(folder / "control.sock"),
            "GATEWAY_KEY_FILE": str(folder / "key"),
        }
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_gone(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def start(self) -> Self:
        """Starts it, possibly again: its state is kept."""
        self.begin()
        wait_until(self._answers, within=PATIENCE, what=lambda: "\n".join(self.lines))
        return self

    def begin(self) -> Self:
        """Starts it without waiting until it is ready."""
        self._process = subprocess.Popen(
            [self.python, "-m", "gateway"],
            env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        threading.Thread(target=self._read, args=(self._process,), daemon=True).start()
        return self

    def stop(self) -> int:
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(PATIENCE)

    def end(self) -> None:
        """Like `stop`, but also if it does not run."""
        if not self.is_gone:
            self.stop()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def ask(self, do: str, **message: Any) -> dict[str, Any]:
        """Returns the answer to a command of the control side."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(self.env["GATEWAY_SOCKET"])
            connection.sendall(json.dumps({"do": do, **message}).encode() + b"\n")
            with connection.makefile("rb") as answers:
                answer: dict[str, Any] = json.loads(answers.readline())
                return answer

    def apply(self, *entries: dict[str, Any], void: tuple[str, ...] = ()) -> dict[str, Any]:
        self.version += 1
        answer = self.ask("apply", version=self.version, entries=list(entries), void=list(void))
        assert answer["ok"], answer
        return answer

    def usage(self, project: str) -> list[dict[str, Any]]:
        """Returns the project's rows of hours and models. Rows without a model count messages."""
        return [row for row in self.ask("usage", since=0)["rows"] if row["project"] == project]

    def settled(self, project: str, requests: int = 1) -> dict[str, int]:
        """Returns the sums of all rows, once this many calls to the provider are settled."""

        def found() -> dict[str, int]:
            rows = self.usage(project)
            sums = {name: sum(row[name] for row in rows) for name in COUNTS}
            return sums if sums["requests"] >= requests else {}

        return wait_until(found, within=PATIENCE, what=lambda: f"The usage is {self.usage(project)}")

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return bool(self.ask("ping")["ready"])
        except OSError:
            assert self._process is not None
            assert self._process.poll() is None, self.lines
            return False

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stderr is not None
        with process.stderr as lines:
            for line in lines:
                self.lines.append(line.rstrip("\n"))
