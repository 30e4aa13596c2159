"""Reads the output of a trial's containers."""

from containers.docker_api.client import Connection

LINES = 200
LOG_BYTES = 8 * 1024 * 1024
_FRAME = 8
"""Bytes of the header that the engine puts before each piece of a log."""


def read_end(connection: Connection, container_id: str) -> list[str]:
    """Returns the last lines."""
    with connection.call(about_one=True) as client:
        printed: bytes = client.logs(container_id, stdout=True, stderr=True, tail=LINES)
    return printed.decode(errors="replace").splitlines()


def read_all(connection: Connection, container_id: str) -> list[str]:
    """Returns the log from its first line on, because a credential may be there; of a huge log, only both ends."""
    pieces: list[bytes] = []
    left = LOG_BYTES
    with connection.call(size=2 * LOG_BYTES, about_one=True) as client:
        for piece in client.logs(container_id, stdout=True, stderr=True, stream=True, follow=False):
            pieces.append(piece)
            left -= len(piece) + _FRAME
            if left < 0:
                break
    lines = b"".join(pieces).decode(errors="replace").splitlines()
    return lines if left >= 0 else [*lines, *read_end(connection, container_id)]
