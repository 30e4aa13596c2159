"""Sends requests to the gateway and returns its answers. Each is a line of JSON."""

import socket
from pathlib import Path
from typing import Protocol

from containers.errors import EngineUnavailableError

LARGEST_ANSWER = 8 * 1024 * 1024
"""Bytes."""

NOT_THERE = "The gateway does not answer."


class Transport(Protocol):
    def exchange(self, line: bytes, *, within: float) -> bytes:
        """Sends a line and returns the answer, both with their line break, within `within` seconds.

        The line may be sent twice. Raises `EngineError`.
        """

    def prepare(self, *, within: float) -> None:
        """Prepares the next exchange, within `within` seconds. Raises nothing: the exchange itself reports failures."""


class SocketTransport:
    """A transport to a gateway on this machine whose socket this process may open."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def exchange(self, line: bytes, *, within: float) -> bytes:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(within)
                connection.connect(str(self._path))
                connection.sendall(line)
                with connection.makefile("rb") as answers:
                    return read_line(answers.readline(LARGEST_ANSWER + 1))
        except OSError as error:
            raise EngineUnavailableError(NOT_THERE) from error

    def prepare(self, *, within: float) -> None:
        """Does nothing, because opening the socket takes no time."""


def read_line(line: bytes) -> bytes:
    """Returns the line if it is complete. Raises `EngineUnavailableError` if it is cut off or too long."""
    if not line.endswith(b"\n"):
        raise EngineUnavailableError(NOT_THERE)
    return line
