"""The HTTP transport to the Docker engine: one pool of connections, on which whole calls have a time limit.

docker-py limits each read, so that an engine that sends a byte now and then can hold a call for ever. Here every read
and write also keeps the time limit of the calling thread. This holds for Unix sockets and plain TCP. A connection with
TLS is docker-py's own, and only its single reads are limited.
"""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import requests.adapters
import urllib3
import urllib3.connection

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

CONNECT_TIMEOUT = 3.0
_thread = threading.local()


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Limits all calls of this thread inside to `seconds` together. Of nested limits the one that ends first holds."""
    outer: float | None = getattr(_thread, "until", None)
    until = time.monotonic() + seconds
    _thread.until = until if outer is None else min(until, outer)
    try:
        yield
    finally:
        _thread.until = outer


@contextmanager
def _within_time_limit(sock: socket.socket) -> Iterator[None]:
    """Lowers the socket's timeout to what is left of the thread's time limit. Raises where nothing is left."""
    until: float | None = getattr(_thread, "until", None)
    timeout = sock.gettimeout()
    if until is None:
        yield
        return
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("The time for this call is over.")
    sock.settimeout(left if timeout is None else min(timeout, left))
    try:
        yield
    finally:
        sock.settimeout(timeout)


class BoundedSocket(socket.socket):
    """A socket that keeps `time_limit`. http.client reads and writes through these two methods only."""

    def recv_into(self, buffer: "WriteableBuffer", nbytes: int = 0, flags: int = 0) -> int:
        with _within_time_limit(self):
            return super().recv_into(buffer, nbytes, flags)

    def sendall(self, data: "ReadableBuffer", flags: int = 0) -> None:
        with _within_time_limit(self):
            super().sendall(data, flags)


class BoundedConnection(urllib3.connection.HTTPConnection):
    """An HTTP connection over a `BoundedSocket`, to `unix_path` or else to its host and port."""

    def __init__(self, *args: Any, unix_path: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self._unix_path = unix_path

    def connect(self) -> None:
        family, address = (socket.AF_UNIX, self._unix_path) if self._unix_path else _resolve(self.host, self.port or 80)
        sock = BoundedSocket(family, socket.SOCK_STREAM)
        try:
            sock.settimeout(CONNECT_TIMEOUT)
            with _within_time_limit(sock):
                sock.connect(address)
        except BaseException:
            sock.close()
            raise
        self.sock = sock


class BoundedPool(urllib3.HTTPConnectionPool):
    ConnectionCls = BoundedConnection


class BoundedAdapter(requests.adapters.HTTPAdapter):
    """Sends requests to the engine at `base_url` (`http+unix://` or `http://`), `size` connections kept open."""

    def __init__(self, base_url: str, *, size: int) -> None:
        super().__init__()
        if base_url.startswith("http+unix://"):
            path = "/" + base_url.removeprefix("http+unix://").lstrip("/")
            self._pool = BoundedPool("localhost", maxsize=size, unix_path=path)
        else:
            parts = urlsplit(base_url)
            self._pool = BoundedPool(parts.hostname or "localhost", parts.port or 80, maxsize=size)

    def get_connection_with_tls_context(self, *_args: Any, **_options: Any) -> BoundedPool:
        """Always the one pool. docker-py's own adapter opens one for every path, and never uses it again."""
        return self._pool

    def request_url(self, request: requests.PreparedRequest, *_args: Any, **_options: Any) -> str:
        return request.path_url

    def close(self) -> None:
        super().close()
        self._pool.close()


def _resolve(host: str, port: int) -> tuple[int, Any]:
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    return family, address
