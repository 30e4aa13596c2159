"""An engine that is about to end: it goes on to answer who is connected, stops all containers, and starts none.

Its containers have not ended by themselves then, and what it refuses it would not refuse if it went on. Nothing that it
answers tells so. But it answers nobody new any more. Its socket may go on to take connections: systemd holds it open
for the engine that comes next, and a proxy has one of its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from containers.call_limits import seconds_left, time_of_its_own
from containers.docker_api.client import Connection, DockerClient
from containers.errors import EngineRefusedError, EngineUnavailableError

ANSWERS_WITHIN, LEAST = 1.0, 0.3
"""Seconds for one that goes on to answer somebody new, and where its caller has less than that left."""

_STATUS_AT, _STATUS_SIZE = len("HTTP/1.1 "), 3
_NOBODY_BEHIND = (b"502", b"503", b"504")
"""What other proxies say that have no engine behind them. With any other answer it goes on."""


def require_open(client: DockerClient) -> None:
    """For inside of a call: it fails where the engine does not answer on a new connection in the call's time."""
    with client.open_socket() as fresh:
        # As our own proxy takes it: with a version, and of HTTP/1.1.
        request = f"GET /v{client.api_version}/_ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        fresh.sendall(request.encode())
        came = b""
        while len(came) < _STATUS_AT + _STATUS_SIZE:
            piece = fresh.recv(1024)
            if not piece:
                raise ConnectionError("The engine has taken the connection and given no answer.")
            came += piece
    if not came.startswith(b"HTTP/1.") or came[_STATUS_AT : _STATUS_AT + _STATUS_SIZE] in _NOBODY_BEHIND:
        raise ConnectionError("There is no engine behind this connection.")


@contextmanager
def unless_it_ends(connection: Connection) -> Iterator[None]:
    """Raises `EngineUnavailableError` for a refusal of an engine that is about to end.

    Where nobody may ask it, because it was silent lately, the refusal stays: it has just given that.
    """
    try:
        yield
    except EngineRefusedError:
        _require_open_still(connection)
        raise


def _require_open_still(connection: Connection) -> None:
    """In time of its own: to a caller that has none left every engine is silent."""
    left, is_asked = seconds_left(), False
    enough = ANSWERS_WITHIN if left is None else min(max(left, LEAST), ANSWERS_WITHIN)
    try:
        with time_of_its_own(enough), connection.call(about_one=True) as client:
            is_asked = True
            require_open(client)
    except EngineUnavailableError:
        if is_asked:
            raise
