"""Carries a line to a program that runs in a container, and its answer back: an exec with its standard streams.

So the gateway is reached wherever its engine is, and listens on no network for us.
"""

import json
import socket
import struct
import time

from containers.docker_api.client import OLDEST_API, Connection
from containers.docker_api.errors import GARBLED, understand_answer
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.gateway.transport import LARGEST_ANSWER, NOT_THERE, read_line

TALK = ("/opt/gateway/bin/python3", "-I", "-S", "/opt/gateway/gateway/control/talk.py")

_HEADER = struct.Struct(">BxxxL")
_LONGEST_HEAD = 16 * 1024
_STDOUT = 1
_PIECE = 65536


class ExecTransport:
    """A `containers.gateway.transport.Transport` to the gateway in this container."""

    def __init__(self, connection: Connection, container: str) -> None:
        self._connection = connection
        self._container = container

    def exchange(self, line: bytes, *, within: float) -> bytes:
        until = time.monotonic() + within
        with self._connection.call(within, about_one=True) as client:
            with understand_answer():
                created = client.exec_create(self._container, list(TALK), stdin=True, stdout=True, stderr=False)
                exec_id = str(created["Id"])
            stream = client.open_socket()
        try:
            with stream:
                return _converse(stream, exec_id, line, until)
        except OSError as error:
            raise EngineUnavailableError(NOT_THERE) from error


def _converse(stream: socket.socket, exec_id: str, line: bytes, until: float) -> bytes:
    body = json.dumps({"Detach": False, "Tty": False}).encode()
    head = (
        f"POST /v{OLDEST_API}/exec/{exec_id}/start HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
    )
    _wait_until(stream, until)
    stream.sendall(head.encode() + body)
    rest = _read_head(stream, until)
    # What follows the head is no message of HTTP but the program's streams.
    _wait_until(stream, until)
    stream.sendall(line)
    return _read_answer(stream, rest, until)


def _read_head(stream: socket.socket, until: float) -> bytearray:
    """What came behind the head. Raises `EngineError` where the engine does not hand the streams over."""
    came = bytearray()
    while b"\r\n\r\n" not in came:
        if len(came) > _LONGEST_HEAD:
            raise EngineUnavailableError(GARBLED)
        came += _receive(stream, until)
    head, _, rest = bytes(came).partition(b"\r\n\r\n")
    if head.split(b" ", 2)[1:2] not in ([b"101"], [b"200"]):
        raise EngineRefusedError("The engine does not run a program in the gateway's container.")
    return bytearray(rest)


def _read_answer(stream: socket.socket, rest: bytearray, until: float) -> bytes:
    answer = bytearray()
    while not answer.endswith(b"\n"):
        while len(rest) >= _HEADER.size:
            kind, size = _HEADER.unpack_from(rest)
            if kind > 2 or len(answer) + size > LARGEST_ANSWER:
                raise EngineUnavailableError(GARBLED)
            if len(rest) < _HEADER.size + size:
                break
            if kind == _STDOUT:
                answer += rest[_HEADER.size : _HEADER.size + size]
            del rest[: _HEADER.size + size]
        if not answer.endswith(b"\n"):
            rest += _receive(stream, until)
    return read_line(bytes(answer))


def _receive(stream: socket.socket, until: float) -> bytes:
    _wait_until(stream, until)
    piece = stream.recv(_PIECE)
    if not piece:
        raise EngineUnavailableError(NOT_THERE)  # the program has ended: nobody listens on the socket
    return piece


def _wait_until(stream: socket.socket, until: float) -> None:
    left = until - time.monotonic()
    if left <= 0:
        raise EngineUnavailableError(NOT_THERE)
    stream.settimeout(left)
