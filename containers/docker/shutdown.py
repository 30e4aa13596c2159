"""Detects an engine that is shutting down: it still answers on open connections, stops all containers, starts none.

Its containers have not ended by themselves then, and its refusals do not mean anything. None of its answers say so, but
it no longer answers on new connections. Its socket may still accept them, because systemd keeps it open for the next
engine, and a proxy has a socket of its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from containers.docker_api.client import Connection, DockerClient
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.outbound.call_limits import seconds_left, time_of_its_own

ANSWERS_WITHIN, LEAST = 1.0, 0.3
"""Seconds for an engine to answer on a new connection: usually, and at least if the caller has less time left."""

_STATUS_AT, _STATUS_SIZE = len("HTTP/1.1 "), 3
_NOBODY_BEHIND = (b"502", b"503", b"504")
"""The status codes of proxies without an engine behind them. Any other answer means that the engine keeps running."""


def require_open(client: DockerClient) -> None:
    """Raises an error if the engine does not answer on a new connection. It keeps the limits of the caller's call."""
    with client.open_socket() as fresh:
        # Our own proxy accepts only requests with an API version and in HTTP/1.1.
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
    """Raises `EngineUnavailableError` instead of a refusal if the engine is shutting down.

    If the circuit breaker permits no call, the refusal stands, because the engine has just given it.
    """
    try:
        yield
    except EngineRefusedError:
        _require_open_still(connection)
        raise


def _require_open_still(connection: Connection) -> None:
    """Checks the engine in extra time, because without any time left it would always seem silent."""
    left, is_asked = seconds_left(), False
    enough = ANSWERS_WITHIN if left is None else min(max(left, LEAST), ANSWERS_WITHIN)
    try:
        with time_of_its_own(enough), connection.call(about_one=True) as client:
            is_asked = True
            require_open(client)
    except EngineUnavailableError:
        if is_asked:
            raise
