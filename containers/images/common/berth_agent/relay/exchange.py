"""One request of the child and the answer to it."""

import json
from http.client import HTTPResponse
from http.server import BaseHTTPRequestHandler
from typing import IO, Any

PART = 64 * 1024
SMALL = 1024 * 1024
"""Bytes of a request that is read before it is passed on. A larger one is passed on as it comes."""


class Exchange:
    def __init__(self, handler: BaseHTTPRequestHandler, length: int) -> None:
        self._handler = handler
        self._left = length
        self.method = handler.command
        self.path = handler.path
        self.headers = dict(handler.headers.items())
        self.is_small = length <= SMALL

    def read(self, size: int = -1) -> bytes:
        """Never beyond the request's end, so that it can be passed on as a stream."""
        part = self._handler.rfile.read(min(size, self._left) if size >= 0 else self._left)
        self._left -= len(part)
        return part

    def body(self) -> tuple["bytes | IO[bytes] | None", dict[str, str]]:
        """The request's body as `ask` takes it, and the headers that belong to it."""
        if self.is_small:
            return self.read() or None, {}
        return self, {"Content-Length": str(self._left)}  # type: ignore[return-value]  # http.client only reads

    def answer(self, status: int, content: bytes, kind: str = "application/json", **headers: str) -> None:
        self._begin(status, {"Content-Type": kind, "Content-Length": str(len(content)), **headers})
        self._handler.wfile.write(content)

    def answer_json(self, status: int, document: Any) -> None:
        self.answer(status, json.dumps(document).encode())

    def pass_on(self, answer: HTTPResponse, content: bytes | None = None) -> None:
        """With the `content` where it was read already. Else piece by piece, so that what streams goes on to stream."""
        names = ("Content-Type", "Retry-After", "X-Request-Id", "Request-Id")
        headers = {name: value for name in names if (value := answer.getheader(name))}
        if content is not None:
            headers["Content-Length"] = str(len(content))
        elif answer.length is not None:
            headers["Content-Length"] = str(answer.length)
        else:
            headers["Connection"] = "close"
        self._begin(answer.status, headers)
        if content is not None:
            self._handler.wfile.write(content)
            return
        while part := answer.read1(PART):
            self._handler.wfile.write(part)

    def _begin(self, status: int, headers: dict[str, str]) -> None:
        while self._left > 0 and self.read(PART):  # what nobody asked for would be read as the next request
            pass
        self._handler.send_response(status)
        for name, value in headers.items():
            self._handler.send_header(name, value)
        if headers.get("Connection") == "close":
            self._handler.close_connection = True
        self._handler.end_headers()
