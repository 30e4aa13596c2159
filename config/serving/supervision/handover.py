"""Hands the service over to a new program without a moment in which nothing listens.

The process executes the command that started it once more, and so stays the same process for systemd. It keeps its
listening socket and, until the new web server is ready, the lifeline of its children: they serve until it is cut, and
then finish what they have begun.
"""

import os
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import resource_tracker

VARIABLE = "_BERTH_HANDOVER"
NOBODY_LISTENS = -1
"""In place of the descriptor, if there is only a watcher."""

OF_THE_FIRST_START = {"--again", "--announce", "--prepare"}
"""Options of `serve`. The caller of the handover has prepared the new program."""


@dataclass
class Predecessors:
    """The children of the previous program: the web server, the watcher, and Python's own helper."""

    listener: int | None = None
    _lifeline: int | None = None
    _pids: set[int] = field(default_factory=set)
    _until: float | None = None

    @classmethod
    def read(cls) -> "Predecessors":
        """Returns those that the environment names: none at the first start."""
        parts = os.environ.pop(VARIABLE, "").split()
        if not parts:
            return cls()
        listener, lifeline, *pids = map(int, parts)
        os.set_inheritable(lifeline, False)  # noqa: FBT003 - the standard library's own
        return cls(listener=None if listener == NOBODY_LISTENS else listener, _lifeline=lifeline, _pids=set(pids))

    @property
    def hand_over(self) -> bool:
        """Whether this process continues a previous program."""
        return self._lifeline is not None

    def release(self, grace: float) -> None:
        """Lets them end, for which they have this many seconds."""
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline, self._until = None, time.monotonic() + grace

    def reap(self) -> None:
        """Reaps children that have ended. Kills those that should have."""
        is_over = self._until is not None and time.monotonic() > self._until
        for pid in tuple(self._pids):
            with suppress(ProcessLookupError):
                if is_over:
                    os.kill(pid, signal.SIGKILL)
            try:
                ended, _ = os.waitpid(pid, 0 if is_over else os.WNOHANG)
            except ChildProcessError:
                ended = pid
            if ended:
                self._pids.discard(pid)

    def end(self, grace: float) -> None:
        """Waits for them to end, for as long as they are allowed."""
        self.release(grace)
        self._until = self._until or time.monotonic() + grace
        while self._pids:
            self.reap()
            time.sleep(0.05)

    def kill(self) -> None:
        self.release(0)
        self._until = 0.0

    @property
    def pids(self) -> set[int]:
        return self._pids


def command_of_new_program(*options: str) -> list[str]:
    """Returns the command that has started this process, for a program that the caller of the handover has prepared."""
    words = [word for word in sys.orig_argv[1:] if word not in OF_THE_FIRST_START]
    return [sys.executable, *words, *options]


def execute_again(
    listener: socket.socket | None, lifeline: int, children: set[int], environment: dict[str, str]
) -> None:
    """Executes the command of this process again. Returns only by raising `OSError` if that fails."""
    helper = resource_tracker._resource_tracker._pid  # type: ignore[attr-defined]  # noqa: SLF001 - nobody else reaps it
    pids = children | ({helper} if helper else set())
    if listener is not None:
        listener.set_inheritable(True)
    os.set_inheritable(lifeline, True)  # noqa: FBT003 - the standard library's own
    for number in (signal.SIGUSR2, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # until the new program listens to them
    listens_on = listener.fileno() if listener is not None else NOBODY_LISTENS
    handed = " ".join(map(str, (listens_on, lifeline, *pids)))
    os.execve(sys.executable, command_of_new_program(), {**os.environ, **environment, VARIABLE: handed})  # noqa: S606 - our own command
