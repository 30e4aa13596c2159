"""A shell in a terminal, for commands that people type and questions that they are asked there."""

import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

CTRL_C = "\x03"


class Terminal:
    """Runs bash without the user's own settings. `said` is all that stands in the terminal, typed lines too.

    Its programs hear Ctrl-C, although the whole test command runs its parts in the background, which do not.
    """

    def __init__(self, *, folder: Path, environment: Mapping[str, str]) -> None:
        self._own, its = pty.openpty()
        self._shell = subprocess.Popen(
            ["env", "--default-signal", "setsid", "--ctty", "bash", "--noprofile", "--norc"],
            cwd=folder, env={**environment, "TERM": "dumb", "PS1": "$ "}, stdin=its, stdout=its, stderr=its,
        )  # fmt: skip
        os.close(its)
        self.said = ""
        self._read_to = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shell.send_signal(signal.SIGHUP)
        os.close(self._own)
        self._shell.wait(30)

    def type(self, line: str) -> None:
        os.write(self._own, f"{line}\n".encode())

    def press(self, key: str) -> None:
        os.write(self._own, key.encode())

    def wait_for(self, text: str, *, within: float) -> str:
        """Returns the output up to this text and after the text of the last call."""
        until = time.monotonic() + within
        while (at := self.said.find(text, self._read_to)) < 0:
            left = until - time.monotonic()
            assert left > 0, f"The terminal does not say {text!r}:\n{self.said}"
            if select.select([self._own], [], [], left)[0]:
                self.said += os.read(self._own, 65536).decode(errors="replace")
        found, self._read_to = self.said[self._read_to : at], at + len(text)
        return found
