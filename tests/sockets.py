"""Keeps tests inside: loopback, Unix sockets and the private addresses of containers, nothing else."""

import socket
from ipaddress import ip_address
from typing import Any

_connect = socket.socket.connect
_connect_ex = socket.socket.connect_ex
_getaddrinfo = socket.getaddrinfo


class OutsideError(RuntimeError):
    """A test tried to reach the outside. No OSError, which the code under test would take for an outage."""


def stay_inside() -> None:
    def connect(self: socket.socket, address: Any) -> None:
        _check(self, address)
        _connect(self, address)

    def connect_ex(self: socket.socket, address: Any) -> int:
        _check(self, address)
        return _connect_ex(self, address)

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        _check_host(host)
        return _getaddrinfo(host, *args, **kwargs)

    socket.socket.connect = connect  # type: ignore[method-assign, assignment]  # that is the point
    socket.socket.connect_ex = connect_ex  # type: ignore[method-assign, assignment]  # that is the point
    socket.getaddrinfo = getaddrinfo


def _check(sock: socket.socket, address: Any) -> None:
    if sock.family in {socket.AF_INET, socket.AF_INET6}:
        _check_host(address[0])


def _check_host(host: Any) -> None:
    name = host.decode() if isinstance(host, bytes) else host
    if name in {None, "", "localhost"} or str(name).endswith((".localhost", ".invalid")):
        return
    try:
        inside = ip_address(name).is_private
    except ValueError:
        inside = False
    if not inside:
        message = f"A test wants to reach {name}, which is outside. Use a fake."
        raise OutsideError(message)
