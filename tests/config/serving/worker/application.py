"""The application that the worker of these tests serves."""

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.http import HttpResponse

from config.http.middleware import ARRIVED_AT
from tests.config.serving.looping import GUARD

LAST = b"GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
LARGE = b"x" * 12_000_000
"""More bytes than the kernel buffers for a client that does not read."""


class Site:
    """The application of these tests."""

    def __init__(self) -> None:
        self.hold = threading.Event()
        self.threads: list[str] = []
        self.bodies: list[bytes] = []
        self.paths: list[str] = []
        self.held_paths = {"/held"}
        self.arrivals: list[float] = []
        self.told_more = False

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        self.threads.append(threading.current_thread().name)
        self.arrivals.append(environ[ARRIVED_AT])
        self.paths.append(path)
        if path in self.held_paths:
            self.hold.wait(GUARD)
        if path == "/body":
            self.bodies.append(environ["wsgi.input"].read())
        if path == "/broken":
            raise ZeroDivisionError("outside of all that handles errors")
        if path == "/odd":
            start_response("200 OK", [("X-Odd", "a\r\nb")])
        if path == "/stream":
            start_response("200 OK", [("Content-Type", "text/event-stream; charset=utf-8")])
            return self.stream()
        if path == "/whole stream":
            start_response("200 OK", [("Content-Type", "text/event-stream"), ("Content-Length", "11")])
            return HttpResponse(b"data: one\n\n")
        if path == "/download":
            start_response("200 OK", [("Content-Type", "application/zip")])
            return Download(self)
        body = LARGE if path == "/large" else path.encode()
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]

    def stream(self) -> Iterator[bytes]:
        yield b"data: one\n\n"
        self.threads.append(threading.current_thread().name)
        self.hold.wait(GUARD)
        yield b"data: two\n\n"
        self.told_more = True


class Download:
    """An answer that declares itself as long-running, and breaks off."""

    has_own_thread = True

    def __init__(self, site: Site) -> None:
        self._site = site

    def __iter__(self) -> Iterator[bytes]:
        self._site.threads.append(threading.current_thread().name)
        yield b"begun"
        self._site.hold.wait(GUARD)
        raise ConnectionAbortedError("The session has been ended.")


def status_of(answer: bytes) -> int:
    return int(answer.split()[1])
