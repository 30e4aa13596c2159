"""The proxy in this process, in front of an engine that records every byte."""

import asyncio
import json
import re
import socket
import threading
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from containers.hardening import SECCOMP_FILE
from containers.socket_proxy.constants import Scope
from containers.socket_proxy.engine import Engine
from containers.socket_proxy.requests import HEAD_SIZE
from containers.socket_proxy.server import Server
from tests.waiting import wait_until

OURS, THEIRS, GATEWAY, RULES, RUN = ("a" * 64, "b" * 64, "c" * 64, "d" * 64, "e" * 64)
OUR_NAME = "berth-0123456789abcdef0123"
_LABELS: dict[str, dict[str, str]] = {
    OURS: {"berth.instance": "berth"},
    THEIRS: {"com.docker.compose.service": "postgres"},
    GATEWAY: {"berth.gateway": "berth"},
    RULES: {"berth.rules": "berth"},
}
_NAMES = {OUR_NAME: OURS, "postgres": THEIRS}
OUR_NETWORK, THEIR_NETWORK = "berth-net", "berth_default"
OUR_VOLUME, THEIR_VOLUME = "berth-1-data", "berth_postgres"

TOO_OLD = b'HTTP/1.0 400 Bad Request\r\n\r\n{"message": "client version 1.41 is too old."}'
MARK = b"MARK\r\n\r\n"
"""Sent to the engine by a test itself. The engine answers it and does not record it."""


@dataclass
class Wire:
    folder: Path
    came: list[bytes] = field(default_factory=list)
    """What the engine received, each connection's bytes as a whole, except what the proxy itself asked."""
    asked: list[bytes] = field(default_factory=list)
    """The first lines of what the proxy itself asked."""
    oldest: int = 41
    """The oldest minor version of the API in which the proxy may ask."""
    running: int = 0
    past: bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    """Its answer about past events."""
    keeps: bool = True
    """Whether it keeps the connection open after that, as long as its client does."""

    def send(self, data: bytes) -> bytes:
        """Returns the whole answer."""
        with socket.socket(socket.AF_UNIX) as stream:
            stream.settimeout(30)
            stream.connect(str(self.folder / "proxy"))
            with suppress(OSError):
                stream.sendall(data)
            came = b""
            with suppress(ConnectionResetError):
                while piece := stream.recv(65536):
                    came += piece
            return came

    def ask(self, method: str, path: str, body: object = None) -> int:
        content = json.dumps(body).encode() if body is not None else b""
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n" if content else ""
        return status_of(self.send(head.encode() + b"\r\n" + content))

    def connect(self) -> socket.socket:
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(30)
        stream.connect(str(self.folder / "proxy"))
        return stream

    def settle(self) -> None:
        """Returns once the engine has received everything that was sent to it before.

        It accepts connections in order, so those that the proxy has opened come before this one.
        """
        with socket.socket(socket.AF_UNIX) as stream:
            stream.settimeout(30)
            stream.connect(str(self.folder / "engine"))
            stream.sendall(MARK)
            assert stream.recv(1) == b"."
        wait_until(lambda: self.running == 0)

    async def engine(self, reader: StreamReader, writer: StreamWriter) -> None:
        self.running += 1
        try:
            with suppress(asyncio.IncompleteReadError, OSError):
                head = await reader.readuntil(b"\r\n\r\n")
                if head == MARK:
                    writer.write(b".")
                elif b" HTTP/1.0\r\n" in head and b"/logs?" not in head:
                    self.asked.append(head.split(b"\r\n")[0])
                    is_old = int(head.split(b"/")[1].removeprefix(b"v1.")) < self.oldest
                    writer.write(TOO_OLD if is_old else _look_up(head))
                else:
                    await self._serve(head, reader, writer)
                await writer.drain()
        finally:
            self.running -= 1
            writer.close()

    async def _serve(self, head: bytes, reader: StreamReader, writer: StreamWriter) -> None:
        place = len(self.came)
        self.came.append(head)
        if b"/logs" in head.split(b"\r\n")[0]:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\nline\n")
            await reader.read()  # it follows until its client leaves
            return
        if b"/events?since" in head:
            writer.write(self.past)
            if self.keeps:
                await reader.read()
            return
        if found := re.search(rb"content-length: (\d+)", head, re.IGNORECASE):
            self.came[place] += await reader.readexactly(int(found[1]))
        elif b"chunked" in head:
            self.came[place] += await reader.readuntil(b"\r\n0\r\n\r\n")
        if b"/start HTTP" in head and b"/exec/" in head:
            writer.write(b"HTTP/1.1 101 UPGRADED\r\n\r\n")
            writer.write(await reader.readline())
            return
        body = json.dumps({"Id": RUN}, separators=(",", ":")) if b"/exec HTTP" in head else "{}"
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        writer.write_eof()
        self.came[place] += await reader.read()  # and anything more that comes


def _look_up(head: bytes) -> bytes:
    """Answers what the proxy asks: about containers, networks and volumes."""
    _, _, kind, name, *_ = head.split(b" ")[1].decode().split("/")
    found: dict[str, Any] | None = None
    if kind == "containers" and (identity := _NAMES.get(name, name)) in _LABELS:
        network = "host" if identity == RULES else "none"
        labels = {"Labels": _LABELS[identity]}
        found = {"Id": identity, "Config": labels, "HostConfig": {"NetworkMode": network}}
    elif name in {OUR_NETWORK, OUR_VOLUME}:
        found = {"Id": "1" * 64, "Labels": {"berth.instance": "berth"}}
    elif name in {THEIR_NETWORK, THEIR_VOLUME}:
        found = {"Id": "2" * 64, "Labels": None}
    status = "200 OK" if found else "404 Not Found"
    return f"HTTP/1.0 {status}\r\n\r\n{json.dumps(found or {'message': 'No such thing'})}".encode()


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


@contextmanager
def running_wire(folder: Path, *, most: int = 20, wire: Wire | None = None) -> Iterator[Wire]:
    wire, began = wire or Wire(folder), threading.Event()
    ends: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def run() -> None:
        server = Server(Engine(str(folder / "engine"), Scope()), SECCOMP_FILE.read_text(), most=most)
        engine = await asyncio.start_unix_server(wire.engine, folder / "engine", limit=HEAD_SIZE)
        proxy = await asyncio.start_unix_server(server.serve, folder / "proxy", limit=HEAD_SIZE)
        end = asyncio.Event()
        ends.append((asyncio.get_running_loop(), end))
        began.set()
        await end.wait()
        engine.close()
        proxy.close()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    assert began.wait(30)
    try:
        yield wire
    finally:
        ((loop, end),) = ends
        loop.call_soon_threadsafe(end.set)
        thread.join(30)
