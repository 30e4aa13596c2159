"""The child process: its program, its log and its end."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from berth_agent.redaction import redactor

LONGEST_LINE = 8192
LAST_WORDS = 1.0  # seconds to read the rest of its output, which processes that it has started may keep open forever


@dataclass(frozen=True, slots=True)
class Program:
    """`name` precedes each line of its log, so that no line can pass for a report."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    directory: Path


class Child:
    """`end` receives the exit code, which is negative if a signal ended the child."""

    def __init__(self, program: Program, end: Callable[[int], None]) -> None:
        self._program = program
        self._end = end
        self._process = subprocess.Popen(  # noqa: S603 - the adapter's own command
            program.command,
            env=program.environment,
            cwd=program.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._log = Thread(target=self._follow, daemon=True, name="log of the child")
        self._log.start()
        Thread(target=self._wait, daemon=True, name="child").start()

    def stop(self, within: float) -> None:
        """Sends SIGTERM to the child, and after this many seconds SIGKILL to it and its process group."""
        with suppress(ProcessLookupError):
            self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(within)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _follow(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - a pipe
        with self._process.stdout as output:
            while line := output.readline(LONGEST_LINE):
                text = redactor.clean(line.decode("utf-8", "replace").rstrip())
                if text:
                    print(f"{self._program.name}: {text}", file=sys.stderr, flush=True)  # noqa: T201 - its log

    def _wait(self) -> None:
        code = self._process.wait()
        self._log.join(LAST_WORDS)
        self._end(code)
