"""Open connections to the engine for short requests, each of which is sent and answered as a whole.

httptools reads the answers. urllib3 and http.client take three to five times as long for that, which is most of the
processor time of a call, and a deploy makes ten.
"""

import re
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple
from weakref import finalize

import httptools
from urllib3.exceptions import ProtocolError
from urllib3.util.wait import wait_for_read

_PIECE = 64 * 1024
_MOST_HEADERS = 100
"""As many as http.client takes. Without a limit, short headers would take far more memory than they have bytes."""

_NOT_IN_TARGETS = re.compile(r"[^\x21-\x7e]")
_NOT_IN_HEADERS = re.compile(r"[\r\n\x00]")
_HAVE_A_LENGTH = frozenset({"content-length", "transfer-encoding"})
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
"""The methods for which the length of an empty body is sent too (RFC 9110, section 8.6)."""


class ShortAnswer(NamedTuple):
    status: int
    reason: str
    headers: dict[str, str]
    body: bytes


class ShortConnections:
    """Keeps up to `size` connections open. For the threads of one process."""

    def __init__(self, open_socket: Callable[[], socket.socket], *, host: str, size: int) -> None:
        self._open_socket, self._host, self._size = open_socket, host, size
        self._idle: list[socket.socket] = []
        finalize(self, _close_all, self._idle)

    def ask(
        self, method: str, target: str, *, body: bytes | None, headers: Mapping[str, str], timeout: float
    ) -> ShortAnswer:
        """Returns the whole answer, still compressed if it is. `timeout` is in seconds, for each wait. Not for HEAD.

        Raises `OSError`, urllib3's `ProtocolError`, and `ValueError` for a request that HTTP cannot express.
        """
        request = _write_request(method, target, body, {"Host": self._host, **headers})
        sock = self._take()
        try:
            sock.settimeout(timeout)
            with suppress(BrokenPipeError):  # it may have answered before it had read everything
                sock.sendall(request)
            reader = _read_answer(sock)
        except BaseException:
            sock.close()
            raise
        if reader.is_reusable:
            self._give_back(sock)
        else:
            sock.close()
        return reader.answer

    def close(self) -> None:
        _close_all(self._idle)

    def _take(self) -> socket.socket:
        """Returns an idle connection that the engine has not closed, or else a new one."""
        while True:
            try:
                sock = self._idle.pop()
            except IndexError:
                return self._open_socket()
            if not wait_for_read(sock, timeout=0.0):
                return sock
            sock.close()

    def _give_back(self, sock: socket.socket) -> None:
        if len(self._idle) < self._size:
            self._idle.append(sock)
        else:
            sock.close()


def _close_all(idle: list[socket.socket]) -> None:
    while idle:
        idle.pop().close()


def _write_request(method: str, target: str, body: bytes | None, headers: Mapping[str, str]) -> bytes:
    if _NOT_IN_TARGETS.search(target):
        raise ValueError("The path contains a character that a request must not contain.")
    if any(_NOT_IN_HEADERS.search(value) for value in headers.values()):
        raise ValueError("A header contains a line break.")
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if body is not None or method in _WITH_BODY:
        lines.append(f"Content-Length: {len(body or b'')}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")


def _read_answer(sock: socket.socket) -> "_Reader":
    reader = _Reader()
    try:
        while not reader.is_complete:
            if piece := sock.recv(_PIECE):
                reader.parser.feed_data(piece)
            else:
                reader.end()
    except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
        raise ProtocolError("The answer is not HTTP.", error) from error
    return reader


class _Reader:
    """The methods that httptools calls while it parses one answer."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.is_complete = False
        self.is_reusable = False
        """Whether the connection can carry another request."""
        self._reason, self._headers, self._body = "", dict[str, str](), bytearray()
        self._has_headers = False

    @property
    def answer(self) -> ShortAnswer:
        return ShortAnswer(self.parser.get_status_code(), self._reason, self._headers, bytes(self._body))

    def end(self) -> None:
        """The engine has closed the connection, which completes an answer without a length."""
        if not self._has_headers or _HAVE_A_LENGTH & {name.lower() for name in self._headers}:
            raise ProtocolError("The engine closed the connection within an answer.")
        self.is_complete = True

    def on_message_begin(self) -> None:
        if self.is_complete:  # it would be taken for the answer to the next request
            raise ValueError("The engine has answered twice.")

    def on_status(self, status: bytes) -> None:
        self._reason += status.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text
        if len(self._headers) > _MOST_HEADERS:
            raise ValueError("The answer has too many headers.")

    def on_headers_complete(self) -> None:
        self._has_headers = True

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        if self.parser.get_status_code() < 200:  # an interim answer: the final one follows
            self._reason, self._headers, self._has_headers = "", {}, False
            return
        self.is_complete, self.is_reusable = True, self.parser.should_keep_alive()
