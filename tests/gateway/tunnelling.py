"""A gateway in a thread of this process, for which a test controls name resolution, and the hosts of tunnels."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from containers.gateway.entries import Entry
from containers.gateway.protocol import GatewayClient
from tests.fakes.listening import accept_each, stop_listening
from tests.gateway.in_thread import in_thread
from tests.gateway.process import PATIENCE, digest
from tests.gateway.socket_transport import SocketTransport

ALICE, BOB = "127.0.7.1", "127.0.7.2"
FAR = "127.0.0.9"
"""An address of this machine that counts as one of the public internet."""

PRIVATE = {"near.example.org": "10.1.2.3", "metadata.example.org": "169.254.169.254", "self.example.org": "127.0.0.1"}


def run_gateway(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator["Running"]:
    """Every name resolves to this machine, which counts as the public internet, except the names in `PRIVATE`.

    Names that begin with "silent" get no answer.
    """
    from gateway.config import Config
    from gateway.tunnels import connect, lookups
    from gateway.tunnels.target import is_public

    def look(host: str, _port: int) -> asyncio.Future[list[str]]:
        found: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        if host == "missing.example.org":
            found.set_exception(socket.gaierror(socket.EAI_NONAME, "no such name"))
        elif not host.startswith("silent"):
            found.set_result([PRIVATE[host]] if host in PRIVATE else ["10.9.9.9", FAR])
        return found

    monkeypatch.setattr(lookups, "_look_up", look)
    monkeypatch.setattr(connect, "is_public", lambda address: address == FAR or is_public(address))
    (folder / "key").write_text(Fernet.generate_key().decode())
    config = Config(
        host="127.0.0.1", port=0, socket=folder / "c.sock", state=folder / "s", key_file=folder / "key", grace=0.2
    )
    with in_thread(config) as port:
        yield Running(port, GatewayClient(SocketTransport(config.socket), within=PATIENCE))


class EchoServer:
    """An echo server. `connections` counts its clients."""

    def __init__(self) -> None:
        self.connections = 0
        self._listener = socket.create_server((FAR, 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=accept_each, args=(self._listener, self._serve), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        self.connections += 1
        with connection, contextlib.suppress(OSError):
            while piece := connection.recv(65536):
                connection.sendall(piece)

    def close(self) -> None:
        stop_listening(self._listener)


class Running:
    def __init__(self, port: int, control: GatewayClient) -> None:
        self.port = port
        self.control = control
        self.version = 0

    def tell(self, project: str, address: str | None, *hosts: str, key: str = "") -> None:
        self.version += 1
        entry: Any = Entry(project=project, address=address, hosts=frozenset(hosts))
        if not key:
            self.control.apply(version=self.version, entries=[entry])
            return
        provider = {"virtual": digest(key), "key": "sk-real", "kind": "openai", "base": "https://api.example.org"}
        document = {**entry.as_document(), "provider": provider}
        self.control._ask("apply", version=self.version, entries=[document], void=[])

    def void(self, project: str) -> None:
        self.version += 1
        self.control.apply(version=self.version, void=[project])

    def open(self, target: str, *, source: str = ALICE, more: str = "", early: bytes = b"") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), PATIENCE, (source, 0))
        connection.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{more}\r\n".encode() + early)
        return connection

    def status(self, target: str, **options: Any) -> int:
        with self.open(target, **options) as connection:
            return int(read_head(connection).split()[1])


def read_head(connection: socket.socket) -> bytes:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = connection.recv(1)
        assert piece, head
        head += piece
    return head


def read_exactly(connection: socket.socket, size: int) -> bytes:
    came = bytearray()
    while len(came) < size and (piece := connection.recv(65536)):
        came += piece
    return bytes(came)
