"""Sends requests to the gateway and returns its answers. Each is a line of JSON."""

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


def read_line(line: bytes) -> bytes:
    """Returns the line if it is complete. Raises `EngineUnavailableError` if it is cut off or too long."""
    if not line.endswith(b"\n"):
        raise EngineUnavailableError(NOT_THERE)
    return line
