"""A TCP server that gives a hostile answer to requests whose path ends as configured."""

import select
import socket
import ssl
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

from tests.fakes.hostile_answers import HEAD, Pieces, Shape, with_length
from tests.fakes.listening import accept_each, stop_listening
from tests.fakes.raw_http import read_request

PAUSE = 0.05
"""Seconds between the pieces of a slow answer: every read succeeds long before its own timeout."""

GOOD = b'{"ok": true, "result": {"id": 987654321, "username": "harbour_pilot_bot", "url": ""}}'


class HostileServer:
    """Answers `GOOD` until `shapes` has an answer for the end of a path. With `tls` it speaks HTTPS."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.shapes: dict[str, Shape] = {}
        self.requests: list[str] = []
        self._tls = tls
        self._stopped = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))

    @property
    def url(self) -> str:
        scheme = "https" if self._tls else "http"
        return f"{scheme}://localhost:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=accept_each, args=(self._listener, self._serve), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        stop_listening(self._listener)

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(30)
            stream = self._tls.wrap_socket(connection, server_side=True) if self._tls else connection
            with stream:
                request = read_request(stream).partition(b"\r\n")[0].decode()
                if request:
                    self.requests.append(request)
                    send(stream, self._choose(request), self._stopped)

    def _choose(self, request: str) -> Pieces:
        path = request.split()[1]
        shape = next((shape for end, shape in self.shapes.items() if path.endswith(end)), None)
        return shape(GOOD) if shape else iter((with_length(GOOD, HEAD + b"Connection: close\r\n"),))


def send(connection: socket.socket, pieces: Pieces, stopped: threading.Event) -> None:
    """Sends the pieces until they or the other side end, with a pause in place of an empty one."""
    for piece in pieces:
        if stopped.is_set() or has_left(connection):
            return
        if piece:
            connection.sendall(piece)
        else:
            stopped.wait(PAUSE)


def has_left(connection: socket.socket) -> bool:
    """Whether the other side has closed the connection, so that an endless answer may end."""
    if isinstance(connection, ssl.SSLSocket):
        return False  # the next piece fails
    readable, _, _ = select.select([connection], [], [], 0)
    return bool(readable) and not connection.recv(1, socket.MSG_PEEK)
