"""Tries whether the program in the current files can start, before this process becomes it.

After the handover nothing could bring the former program back: a key file that only root can read, or a file that a
half-finished update lacks, would end the service.
"""

import math
import os
import time
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO

from containers.programs import Process, begin_again

PATIENCE = 150.0
"""Seconds for the trial. The new program imports everything, possibly on a busy machine."""

LOOK_EVERY = 0.1


class Trial:
    """A child process with this process's user and environment, which makes the checks of a start and ends."""

    def __init__(self) -> None:
        self._process: Process | None = None
        self._said: IO[bytes] | None = None
        self._until = 0.0

    @property
    def is_on(self) -> bool:
        return self._said is not None

    @property
    def seconds_to_look(self) -> float:
        return LOOK_EVERY if self.is_on else math.inf

    def begin(self, command: list[str]) -> None:
        """Does nothing if it is on already."""
        if self.is_on:
            return
        self._until = time.monotonic() + PATIENCE
        self._said = TemporaryFile()  # noqa: SIM115 - `_end` closes it
        self._process = begin_again(command, errors=self._said)

    def find_obstacle(self) -> str | None:
        """Returns why the program cannot start, or an empty text if it can; None while that is not known."""
        if self._process is None or self._said is None:
            return None
        code = self._process.poll()
        if code is None and time.monotonic() < self._until:
            return None
        said = _read_last_line(self._said)
        self.end()
        if code is None:
            return f"It has not finished its checks within {PATIENCE:.0f} seconds."
        return "" if code == 0 else said or f"Its checks ended with the exit code {code}."

    def end(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()
        if self._said is not None:
            self._said.close()
        self._process = self._said = None


def _read_last_line(file: IO[bytes]) -> str:
    """Returns the one sentence of the process, or the end of its traceback."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
    lines = file.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
