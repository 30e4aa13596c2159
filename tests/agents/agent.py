"""Runs the agent as a separate process, like its container, against the fakes."""

import ctypes
import json
import os
import platform
import signal
import subprocess
import sys
import tarfile
import threading
from pathlib import Path
from typing import Any, Self

from containers.agent_contract import STATUS_FILE, STATUS_MARK
from containers.docker_api.building.image_build import AGENT_BASE, IMAGES, BuildContext
from tests.agents.forking import Forked, fork_agent
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.waiting import wait_until

TGKILL = {"x86_64": 234, "aarch64": 131}[platform.machine()]
PATIENCE = 100.0  # seconds; on an idle machine most waits take about one


def lay_out(folder: Path, *types: str) -> Path:
    """Fills the folder with the files of these types' images and of their base image. The default is the assistant."""
    for context in (AGENT_BASE, *(BuildContext(folder=IMAGES / name) for name in types or ("assistant",))):
        with tarfile.open(fileobj=context.pack()) as archive:
            archive.extractall(folder, filter="data")
    return folder


class Agent:
    """`image` has the files of the image, `directory` the agent's mounts."""

    def __init__(
        self, image: Path, directory: Path, telegram: FakeTelegram, provider: FakeProvider, token: str, key: str
    ) -> None:
        self.image = image
        self.directory = directory
        self.secrets = {"telegram_bot_token": token, "agent_api_key": key}
        self.env = {
            "TELEGRAM_API_BASE": telegram.url,
            "AGENT_API_BASE": provider.api_base,
            "AGENT_WATCH_SECONDS": "0.2",
            "AGENT_CONFLICT_SECONDS": "0.8",
            "AGENT_UNREACHABLE_SECONDS": "60",
        }
        self.command = ["-m", "assistant"]
        """The command for a separate Python process."""
        self.lines: list[str] = []
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | Forked | None = None
        self._reader: threading.Thread | None = None

    def start(self, *, anew: bool = False, **env: str) -> Self:
        """Starts the agent, also again: its data stay, its output starts empty.

        `anew` starts a separate Python, as in the container. It is needed if the test changes something that Python
        reads at start-up or libraries read when they are imported. Otherwise the libraries are imported already.
        """
        self.env.update(env)
        for name in ("secrets", "data", "run"):
            (self.directory / name).mkdir(exist_ok=True)
        for name, value in self.secrets.items():
            (self.directory / "secrets" / name).write_text(value)
        self.lines = []
        self._process = self._start_python() if anew else fork_agent(self._whole_env())
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()
        return self

    def _start_python(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, *self.command],
            env=self._whole_env(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    def _whole_env(self) -> dict[str, str]:
        """Returns the environment: only what Python needs of the test's own, so that no proxy or key leaks in."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "SSL_CERT_FILE") if name in os.environ}
        places = {f"AGENT_{name.upper()}_DIR": str(self.directory / name) for name in ("secrets", "data", "run")}
        return kept | places | {"PYTHONPATH": str(self.image), "PYTHONUNBUFFERED": "1"} | self.env

    def _read(self, process: "subprocess.Popen[str] | Forked") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with self._lock:
                self.lines.append(line.rstrip("\n"))
        process.stdout.close()

    @property
    def output(self) -> str:
        with self._lock:
            return "\n".join(self.lines)

    @property
    def statuses(self) -> list[dict[str, Any]]:
        """The contents of its AGENT-STATUS lines, in order."""
        with self._lock:
            said = [line.removeprefix(STATUS_MARK) for line in self.lines if line.startswith(STATUS_MARK)]
        return [json.loads(line) for line in said]

    @property
    def file(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.directory / "run" / STATUS_FILE).read_text())
        return found

    def wait_for(self, state: str, code: str | None = None, *, after: int = 0) -> dict[str, Any]:
        """Returns the first status from index `after` with these values. Fails with the whole output if none comes."""

        def found() -> dict[str, Any] | None:
            fits = (s for s in self.statuses[after:] if (s["state"], s["code"]) == (state, code))
            return next(fits, None)

        return wait_until(found, within=PATIENCE, what=lambda: f"never {state} {code}:\n{self.output}")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def wait_for_exit(self) -> int:
        assert self._process is not None
        assert self._reader is not None
        code = self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def terminate(self) -> None:
        assert self._process is not None
        self._process.terminate()

    def terminate_by_thread(self) -> None:
        """Like `terminate`, but the signal reaches another thread than the first one, which the system may choose."""
        threads = {int(each.name) for each in Path(f"/proc/{self.pid}/task").iterdir()}
        thread = min(threads - {self.pid})
        assert ctypes.CDLL(None).syscall(TGKILL, self.pid, thread, signal.SIGTERM) == 0

    def stop(self) -> int:
        self.terminate()
        return self.wait_for_exit()

    def kill(self) -> None:
        """Ends the agent at the end of every test, no matter how far the test came."""
        if self._process is not None:
            self._process.kill()
            self.wait_for_exit()

    def check_health(self) -> tuple[int, str]:
        """Returns the exit code and output of the image's health check."""
        env = {"PATH": os.environ["PATH"], "AGENT_RUN_DIR": str(self.directory / "run")}
        probe = subprocess.run(
            ["/bin/sh", str(self.image / "health.sh")],
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        return probe.returncode, probe.stdout
