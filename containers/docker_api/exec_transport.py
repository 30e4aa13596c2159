"""Sends requests to a program in a container and returns its answers, through an exec with its standard streams.

This reaches the gateway on any machine that its engine is on, and the gateway need not listen on a network for us.
"""

import json
import select
import socket
import struct
import time

from containers.docker_api.api_version import OLDEST_API
from containers.docker_api.client import Connection
from containers.docker_api.errors import GARBLED, understand_answer
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.gateway.transport import LARGEST_ANSWER, NOT_THERE, read_line

TALK = ("/opt/gateway/bin/python3", "-I", "-S", "/opt/gateway/gateway/control/talk.py")

_HEADER = struct.Struct(">BxxxL")
_LONGEST_HEAD = 16 * 1024
_STDOUT = 1
_PIECE = 65536


class ExecLine:
    """A program that runs in a container, and our ends of its streams. One thread uses it at a time.

    `until` is a time on the monotonic clock. Every method that communicates raises `EngineError`.
    """

    def __init__(self, stream: socket.socket, container: str, api: str = OLDEST_API) -> None:
        self._stream, self._api = stream, api
        self._rest = bytearray()
        self.container = container
        self.used_at = time.monotonic()

    @property
    def is_local(self) -> bool:
        return self._stream.family == socket.AF_UNIX

    @property
    def is_quiet(self) -> bool:
        """Whether no unexpected bytes have arrived. The end of the program counts as such."""
        ready = select.poll()
        try:
            ready.register(self._stream, select.POLLIN)
        except (OSError, ValueError):
            return False
        return not self._rest and not ready.poll(0)

    def begin(self, exec_id: str, until: float) -> None:
        body = json.dumps({"Detach": False, "Tty": False}).encode()
        head = (
            f"POST /v{self._api}/exec/{exec_id}/start HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
        )
        try:
            self._send(head.encode() + body, until)
            # After the head, the connection carries the program's streams and no longer HTTP.
            self._rest = _read_head(self._stream, until)
        except OSError as error:
            raise EngineUnavailableError(NOT_THERE) from error

    def exchange(self, line: bytes, until: float) -> bytes:
        try:
            self._send(line, until)
            answer = _read_answer(self._stream, self._rest, until)
        except OSError as error:
            raise EngineUnavailableError(NOT_THERE) from error
        self.used_at = time.monotonic()
        return answer

    def close(self) -> None:
        self._stream.close()

    def __del__(self) -> None:
        """Closes a kept line, which has no owner that could close it when its engine object is discarded."""
        self._stream.close()

    def _send(self, data: bytes, until: float) -> None:
        _wait_until(self._stream, until)
        self._stream.sendall(data)


def open_line(connection: Connection, container: str, until: float) -> ExecLine:
    """Starts the program and returns the line to it. Raises `EngineError`."""
    with connection.call(until - time.monotonic(), about_one=True) as client:
        with understand_answer():
            # Not in the image's working directory: that is a volume, and no program can start in a removed one.
            created = client.exec_create(container, list(TALK), stdin=True, stdout=True, stderr=False, workdir="/")
            exec_id = str(created["Id"])
        line = ExecLine(client.open_socket(), container, client.api_version)
    try:
        line.begin(exec_id, until)
    except BaseException:
        line.close()
        raise
    return line


class ExecTransport:
    """A `containers.gateway.transport.Transport` to the gateway in this container. It keeps no line open."""

    def __init__(self, connection: Connection, container: str) -> None:
        self._connection = connection
        self._container = container

    def exchange(self, line: bytes, *, within: float) -> bytes:
        until = time.monotonic() + within
        opened = open_line(self._connection, self._container, until)
        try:
            return opened.exchange(line, until)
        finally:
            opened.close()

    def prepare(self, *, within: float) -> None:
        """Does nothing, because no line is kept between exchanges."""


def _read_head(stream: socket.socket, until: float) -> bytearray:
    """Reads the head and returns the bytes after it. Raises `EngineError` if the engine refuses to run the program."""
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
        raise EngineUnavailableError(NOT_THERE)  # the program has ended: the gateway does not listen on its socket
    return piece


def _wait_until(stream: socket.socket, until: float) -> None:
    left = until - time.monotonic()
    if left <= 0:
        raise EngineUnavailableError(NOT_THERE)
    stream.settimeout(left)
