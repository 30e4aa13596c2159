"""The service of an installation: the supervisor with the web server and the watcher, and what starts next to it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.chaos.server import Server
from tests.config.serving.served import children_of
from tests.paths import ROOT
from tests.waiting import wait_until

PATIENCE = 120.0


class WholeService(Server):
    """`manage.py serve`: the web server, its workers and the watcher."""

    def start(self) -> None:
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "manage.py", "serve"],
                cwd=ROOT, env=self._environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        self.wait_until_ready()
        wait_until(self.is_well, within=PATIENCE, what=self.log.read_text, every=0.2)

    def is_well(self) -> bool:
        answer = self.call("GET", "/readyz")
        return answer.status == 200 and "gateway" not in answer.json  # it names this if it does not work

    def pids(self, process: str) -> set[int]:
        """Returns the ids of the processes: "serve", "watcher", "web server" or "web worker"."""
        assert self._process is not None
        if process == "serve":
            return {self._process.pid}
        name = "watcher" if process == "watcher" else "web server"
        words = [line for line in self.log.read_text().splitlines() if f"Started the {name}, process " in line]
        child = int(words[-1].rpartition("process ")[2].rstrip("."))
        return children_of(child) if process == "web worker" else {child}

    @contextmanager
    def another_watcher(self) -> Iterator[None]:
        """A watcher that waits for its turn to lead, as on a second machine."""
        log = self.log.with_suffix(".watcher")
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "manage.py", "watch"],
                cwd=ROOT, env=self._environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip
        try:
            wait_until(lambda: "Watching." in log.read_text(), within=PATIENCE, what=log.read_text, every=0.2)
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)

    def stop(self) -> None:
        """Stops as an operator does: work under way is finished."""
        assert self._process is not None
        self._process.terminate()
        self._process.wait(PATIENCE)

    def close(self) -> None:
        assert self._process is not None
        family = {self._process.pid}
        with suppress(IndexError):  # it has not been started yet
            family |= self.pids("watcher")
        for pid in family:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.kill()
