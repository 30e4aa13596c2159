"""Starts agents as forks of a process that has already imported their libraries, because imports take most of a start.

`python -m tests.agents.forking SOCKET` is that process. It runs no agent code itself, and ends when its socket closes.
"""

import atexit
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import traceback
from contextlib import suppress
from functools import cache
from typing import Any, TextIO

LIBRARIES = ("asyncio", "sqlite3", "httpx", "telegram.error", "telegram.request", "markdown_it")
"""The libraries that are installed here. An agent that needs others imports them itself."""
MOST = 100_000
"""Bytes of a request."""


class Forked:
    """A process that runs an agent. It has the part of `subprocess.Popen` that the tests need."""

    def __init__(self, stdout: TextIO, report: TextIO) -> None:
        self.stdout: TextIO | None = stdout
        self._report = report
        self.pid = int(report.readline())
        self._code: int | None = None
        self._ended = threading.Thread(target=self._read_code, daemon=True)
        self._ended.start()

    def _read_code(self) -> None:
        with self._report:
            self._code = int(self._report.readline())

    def wait(self, timeout: float) -> int:
        self._ended.join(timeout)
        if self._code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        return self._code

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        if self._code is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


def fork_agent(environment: dict[str, str]) -> Forked:
    """Runs `python -m assistant` with only these variables, and all its output in one pipe."""
    (output, its_output), (report, its_report) = os.pipe(), os.pipe()
    try:
        request = json.dumps(environment).encode()
        assert len(request) < MOST
        socket.send_fds(_forker(), [request], [its_output, its_report])
    finally:
        os.close(its_output)
        os.close(its_report)
    return Forked(os.fdopen(output), os.fdopen(report))


@cache
def _forker() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-m", "tests.agents.forking", str(theirs.fileno())]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    atexit.register(_end, ours, process)
    return ours


def _end(ours: socket.socket, process: "subprocess.Popen[bytes]") -> None:
    ours.close()
    process.wait(60)


# -- The process that forks -------------------------------------------------------------------------------------------


def serve(theirs: socket.socket) -> None:
    for name in LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(name)
    while True:
        request, fds, *_ = socket.recv_fds(theirs, MOST, 2)
        if not request:
            return
        if os.fork() == 0:
            theirs.close()
            _look_after(json.loads(request), *fds)
        for descriptor in fds:
            os.close(descriptor)
        _reap()


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _look_after(environment: dict[str, str], output: int, report: int) -> None:
    """Runs an agent as a child, and reports its process id and how it ended."""
    pid = os.fork()
    if pid == 0:
        os.close(report)
        _become(environment, output)
    os.close(output)
    os.write(report, f"{pid}\n".encode())
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # until it is reaped, no other process gets its id
    assert ended is not None
    code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
    os.write(report, f"{code}\n".encode())
    os._exit(0)


def _become(environment: dict[str, str], output: int) -> None:
    code: Any = 1
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        sys.stdout = os.fdopen(1, "w", buffering=1)
        sys.stderr = os.fdopen(2, "w", buffering=1)
        os.environ.clear()
        os.environ.update(environment)
        sys.path.insert(0, environment["PYTHONPATH"])
        sys.argv = ["assistant"]
        runpy.run_module("assistant", run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:  # noqa: BLE001 - as Python itself would
        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stdout.flush()
        os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
