"""A transport to a gateway that runs as a process of this machine."""

import socket
from pathlib import Path

from containers.errors import EngineUnavailableError
from containers.gateway.transport import LARGEST_ANSWER, NOT_THERE, read_line


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
