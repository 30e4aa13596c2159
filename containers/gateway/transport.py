"""How a line reaches the gateway and its answer comes back."""

import socket
from pathlib import Path
from typing import Protocol

from containers.errors import EngineUnavailableError

LARGEST_ANSWER = 8 * 1024 * 1024
"""Bytes."""

NOT_THERE = "The gateway does not answer."


class Transport(Protocol):
    def exchange(self, line: bytes, *, within: float) -> bytes:
        """The answer to a line, both with their end of line, after at most `within` seconds. Raises `EngineError`.

        The line may come to be sent twice.
        """

    def prepare(self, *, within: float) -> None:
        """Does before an exchange what can be done before it, in at most `within` seconds. What fails, fails then."""


class SocketTransport:
    """For a gateway on this machine whose socket this process may open."""

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
        """To open the socket takes no time."""


def read_line(line: bytes) -> bytes:
    """The line, if it is whole. Raises `EngineUnavailableError` for one that is cut off or too long."""
    if not line.endswith(b"\n"):
        raise EngineUnavailableError(NOT_THERE)
    return line
