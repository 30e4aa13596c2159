"""Limits on calls to other servers, in seconds and in bytes, and the sockets that enforce them.

HTTP libraries limit only each single read. A server that sends a byte now and then could block a call forever, and a
server that never stops sending could fill the memory. Here every look-up, connect, handshake, read and write keeps the
limits of the calling thread.
"""

import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, overload

from containers.outbound.dns_lookups import find_addresses
from containers.processes.deadlines import Deadline
from containers.processes.side_work import LONGEST

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

CONNECT_TIMEOUT = 3.0
"""Seconds for each address of a host."""


class _Limits(Deadline):
    """The limits of this thread: its deadline, and the bytes that may still arrive."""

    bytes_left: int | None = None


_limits = _Limits()


class AnswerTooLargeError(OSError):
    """The server sent more bytes than the call allows."""


def time_limit(seconds: float) -> AbstractContextManager[None]:
    """Limits all calls of this thread in the block to `seconds` in total. Of nested limits, the first to end holds."""
    return _limits.within(seconds)


def time_of_its_own(seconds: float) -> AbstractContextManager[None]:
    """Gives all calls of this thread in the block `seconds` in total, even if an outer limit is over: to clean up."""
    return _limits.replaced(seconds)


@contextmanager
def size_limit(size: int) -> Iterator[None]:
    """Limits what all calls of this thread inside the block receive to `size` bytes in total, headers included.

    Of nested limits, the inner one holds.
    """
    outer, _limits.bytes_left = _limits.bytes_left, size
    try:
        yield
    finally:
        _limits.bytes_left = outer


def seconds_left() -> float | None:
    """Returns the rest of this thread's time limit. Zero or less means that it is over, and None that there is none."""
    return None if _limits.until is None else _limits.until - time.monotonic()


@overload
def _time_left(timeout: float) -> float: ...
@overload
def _time_left(timeout: float | None) -> float | None: ...
def _time_left(timeout: float | None) -> float | None:
    """Returns the seconds that a step with this timeout may take. Raises `TimeoutError` if the time limit is over."""
    if _limits.until is None:
        return timeout
    left = _limits.until - time.monotonic()
    if left <= 0:
        raise TimeoutError("The time for this call is over.")
    return left if timeout is None else min(timeout, left)


@contextmanager
def _within_time_limit(sock: socket.socket) -> Iterator[None]:
    """Lowers the socket's timeout to the rest of the thread's time limit. Raises `TimeoutError` if that is over."""
    timeout = sock.gettimeout()
    sock.settimeout(_time_left(timeout))
    try:
        yield
    finally:
        sock.settimeout(timeout)


def _count(received: int) -> int:
    if _limits.bytes_left is not None:
        _limits.bytes_left -= received
        if _limits.bytes_left < 0:
            raise AnswerTooLargeError("The answer is larger than this call allows.")
    return received


class BoundedSocket(socket.socket):
    """A socket that keeps the limits. http.client and the Redis client read and write through these methods only."""

    def recv(self, bufsize: int, flags: int = 0) -> bytes:
        with _within_time_limit(self):
            data = super().recv(bufsize, flags)
        _count(len(data))
        return data

    def recv_into(self, buffer: "WriteableBuffer", nbytes: int = 0, flags: int = 0) -> int:
        with _within_time_limit(self):
            return _count(super().recv_into(buffer, nbytes, flags))

    def sendall(self, data: "ReadableBuffer", flags: int = 0) -> None:
        with _within_time_limit(self):
            super().sendall(data, flags)


class BoundedTLSSocket(ssl.SSLSocket):
    """The same over TLS, where `sendall` calls `send`."""

    def do_handshake(self, block: bool = False) -> None:  # noqa: FBT001, FBT002 - the signature of ssl
        with _within_time_limit(self):
            super().do_handshake(block)

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        with _within_time_limit(self):
            data = super().recv(buflen, flags)
        _count(len(data))
        return data

    def recv_into(self, buffer: "WriteableBuffer", nbytes: int | None = None, flags: int = 0) -> int:
        with _within_time_limit(self):
            return _count(super().recv_into(buffer, nbytes, flags))

    def send(self, data: "ReadableBuffer", flags: int = 0) -> int:
        with _within_time_limit(self):
            return super().send(data, flags)


def connect(host: str, port: int) -> BoundedSocket:
    """Connects to the first address of the host that answers. Raises `OSError` if none does."""
    failure: OSError = ConnectionError("The host has no address.")
    for family, _, _, _, address in resolve(host, port):
        try:
            return connect_to(family, address)
        except OSError as error:
            failure = error
    raise failure


def connect_to(family: int, address: Any) -> BoundedSocket:
    """Connects to an address of this socket family."""
    sock = BoundedSocket(family, socket.SOCK_STREAM)
    try:
        sock.settimeout(CONNECT_TIMEOUT)
        if family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # head and body are two writes
        with _within_time_limit(sock):
            sock.connect(address)
    except BaseException:
        sock.close()
        raise
    return sock


def resolve(host: str, port: int, *, asker: str = "") -> list[tuple[Any, ...]]:
    """Returns the addresses of a host within the time limit.

    `asker` is the user who named the host, if a user did. Each user may have only a few look-ups at a time.
    """
    return find_addresses(host, port, within=_time_left(LONGEST), asker=asker)
