"""One request of the child and the answer to it."""

import json
from http.client import HTTPResponse, IncompleteRead
from http.server import BaseHTTPRequestHandler
from typing import IO, Any

PART = 64 * 1024
SMALL = 1024 * 1024
"""Bytes up to which a request is read before it is passed on. A larger one is passed on while it arrives."""


class ChildGoneError(Exception):
    """The child has hung up. Not an `OSError`, so that it is not mistaken for a fault of the upstream server."""


class Exchange:
    def __init__(self, handler: BaseHTTPRequestHandler, length: int) -> None:
        self._handler = handler
        self._left = length
        self._is_begun = False
        self.method = handler.command
        self.path = handler.path
        self.headers = dict(handler.headers.items())
        self.is_small = length <= SMALL

    def read(self, size: int = -1) -> bytes:
        """Never reads beyond the request's end, so that it can be passed on as a stream. Raises `ChildGoneError`."""
        wanted = min(size, self._left) if size >= 0 else self._left
        try:
            part = self._handler.rfile.read(wanted)
        except OSError as error:
            raise ChildGoneError from error
        if len(part) < wanted:
            raise ChildGoneError
        self._left -= len(part)
        return part

    def body(self) -> tuple["bytes | IO[bytes] | None", dict[str, str]]:
        """Returns the request's body in the form that `ask` expects, and its headers."""
        if self.is_small:
            return self.read() or None, {}
        return self, {"Content-Length": str(self._left)}  # type: ignore[return-value]  # http.client only reads

    def answer(self, status: int, content: bytes, kind: str = "application/json", **headers: str) -> None:
        """Sends an answer. Like the methods below, raises `ChildGoneError`."""
        self._begin(status, {"Content-Type": kind, "Content-Length": str(len(content)), **headers})
        self._write(content)

    def answer_json(self, status: int, document: Any) -> None:
        self.answer(status, json.dumps(document).encode())

    def fail(self, status: int, document: Any) -> None:
        """Sends this answer, or hangs up if an answer has begun, so that the child sees that it is incomplete."""
        if self._is_begun:
            self._handler.close_connection = True
        else:
            self.answer_json(status, document)

    def pass_on(self, answer: HTTPResponse, content: bytes | None = None) -> None:
        """Passes an answer on: with this `content` if it was already read, otherwise piece by piece as it arrives.

        Raises `OSError` or `HTTPException` if the answer ends early. Call `fail` then.
        """
        names = ("Content-Type", "Retry-After", "X-Request-Id", "Request-Id")
        headers = {name: value for name in names if (value := answer.getheader(name))}
        if content is not None:
            self._begin(answer.status, headers | {"Content-Length": str(len(content))})
            self._write(content)
        elif answer.length is not None:
            left = answer.length
            self._begin(answer.status, headers | {"Content-Length": str(left)})
            while left and (part := answer.read1(min(PART, left))):
                left -= len(part)
                self._write(part)
            if left:
                raise IncompleteRead(b"", left)
        else:
            self._stream(answer, headers)

    def _stream(self, answer: HTTPResponse, headers: dict[str, str]) -> None:
        is_chunked = self._handler.request_version == "HTTP/1.1"
        self._begin(answer.status, headers | ({"Transfer-Encoding": "chunked"} if is_chunked else CLOSE))
        while part := answer.read1(PART):
            self._write(b"%x\r\n%b\r\n" % (len(part), part) if is_chunked else part)
        if is_chunked:
            self._write(b"0\r\n\r\n")

    def _begin(self, status: int, headers: dict[str, str]) -> None:
        while self._left > 0:  # unread data would be taken for the next request
            self.read(PART)
        self._is_begun = True
        self._handler.send_response(status)
        for name, value in headers.items():
            self._handler.send_header(name, value)
        try:
            self._handler.end_headers()
        except OSError as error:
            raise ChildGoneError from error

    def _write(self, content: bytes) -> None:
        try:
            self._handler.wfile.write(content)
        except OSError as error:
            raise ChildGoneError from error


CLOSE = {"Connection": "close"}
"""With this header the handler closes the connection by itself."""
