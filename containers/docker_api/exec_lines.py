"""Keeps lines to the gateway open between exchanges, because starting the program takes longer than everything else.

The program ends with its line, so a process of ours that ends leaves none behind.
"""

import os
import time
from collections import deque

from containers.docker_api.client import Connection
from containers.docker_api.exec_transport import ExecLine, open_line
from containers.errors import EngineUnavailableError

MOST = 2
"""Lines that a process keeps. Each is a program in the gateway's container that uses a few megabytes."""
LOCAL_FOR, REMOTE_FOR = 600.0, 30.0
"""Seconds that an idle line is kept. A firewall or router in front of a remote engine may drop it without notice. The
program itself waits for longer (`talk.py`)."""


class ExecLines:
    """Safe for threads: each takes a line out, and puts it back when it has its answer. Forks share no lines."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._of_process: dict[int, deque[ExecLine]] = {}

    def exchange(self, container: str, line: bytes, *, until: float) -> bytes:
        """Sends a request and returns its answer. Raises `EngineError`.

        The request may be sent twice, because a kept line may have ended a moment ago.
        """
        while kept := self._take(container):
            try:
                return self._use(kept, line, until)
            except EngineUnavailableError:
                if time.monotonic() >= until:
                    raise
        return self._use(open_line(self._connection, container, until), line, until)

    def prepare(self, container: str, *, until: float) -> None:
        """Opens a line if none is kept. Raises `EngineError`."""
        self._keep(self._take(container) or open_line(self._connection, container, until))

    def _use(self, opened: ExecLine, line: bytes, until: float) -> bytes:
        try:
            answer = opened.exchange(line, until)
        except BaseException:
            opened.close()  # a late answer would be taken for the answer to the next request
            raise
        self._keep(opened)
        return answer

    def _kept(self) -> deque[ExecLine]:
        return self._of_process.setdefault(os.getpid(), deque())

    def _take(self, container: str) -> ExecLine | None:
        """Returns the line that was used last, so that surplus lines expire, or None."""
        kept = self._kept()
        while True:
            try:
                line = kept.pop()
            except IndexError:
                return None
            idle_for = LOCAL_FOR if line.is_local else REMOTE_FOR
            if line.container == container and time.monotonic() - line.used_at < idle_for and line.is_quiet:
                return line
            line.close()

    def _keep(self, line: ExecLine) -> None:
        kept = self._kept()
        kept.append(line)
        while len(kept) > MOST:
            try:
                kept.popleft().close()
            except IndexError:
                return
