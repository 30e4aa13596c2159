"""The wire to the Docker engine: one pool of connections for every path, on which whole calls have a time limit.

docker-py's own time-outs are per read: an engine that drips a byte now and then holds a call for ever. Here every read
and write also looks at the time limit of the calling thread. Works for Unix sockets and plain TCP; a connection with
TLS is docker-py's own and has the time-out per read only.
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
    """Whatever this thread says to the engine inside is over after so many seconds; of nested limits the first wins."""
    outer: float | None = getattr(_thread, "until", None)
    until = time.monotonic() + seconds
    _thread.until = until if outer is None else min(until, outer)
    try:
        yield
    finally:
        _thread.until = outer


@contextmanager
def _hurry(sock: socket.socket) -> Iterator[None]:
    """Lower the socket's time-out to what is left of the thread's limit."""
    until: float | None = getattr(_thread, "until", None)
    own = sock.gettimeout()
    if until is None:
        yield
        return
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("The time for this call is over.")
    sock.settimeout(left if own is None else min(own, left))
    try:
        yield
    finally:
        sock.settimeout(own)


class BoundedSocket(socket.socket):
    """A socket that keeps `time_limit`. http.client reads and writes through just these two."""

    def recv_into(self, buffer: "WriteableBuffer", nbytes: int = 0, flags: int = 0) -> int:
        with _hurry(self):
            return super().recv_into(buffer, nbytes, flags)

    def sendall(self, data: "ReadableBuffer", flags: int = 0) -> None:
        with _hurry(self):
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
            with _hurry(sock):
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
        """Always the one pool: docker-py's own adapter keeps one for every path, which never meets again."""
        return self._pool

    def request_url(self, request: requests.PreparedRequest, *_args: Any, **_options: Any) -> str:
        return request.path_url

    def close(self) -> None:
        super().close()
        self._pool.close()


def _resolve(host: str, port: int) -> tuple[int, Any]:
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    return family, address
