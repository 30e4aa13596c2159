"""Connects to the engine's socket for each request, and makes the proxy's own calls."""

import asyncio
import json
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader, StreamWriter
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from containers.socket_proxy.constants import Kind, Scope
from containers.socket_proxy.requests import HEAD_SIZE, RefusedError

CONNECT_WITHIN = 5.0
ASK_WITHIN = 15.0
"""Seconds for the proxy's own calls, and for reading an answer that it must check before it passes it on."""

SPOKEN: ContextVar[str] = ContextVar("SPOKEN")
"""The version at the head of the present request's path, such as `/v1.41`. The proxy asks with it too, because an
engine refuses versions that are too old for it: Docker 29 those before 1.44."""

_ANSWER_SIZE = 8 * 1024 * 1024
_REMEMBERED = 20_000


class EngineAwayError(Exception):
    """The engine does not answer in time. The client gets no answer either, as from a dead socket."""


class AnsweredError(Exception):
    """The engine has refused the proxy's own call. The client gets the engine's answer."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


@asynccontextmanager
async def within(seconds: float = ASK_WITHIN) -> AsyncIterator[None]:
    """Limits a call to the engine itself. Raises `EngineAwayError` if it fails or takes longer."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except (OSError, IncompleteReadError, LimitOverrunError) as error:  # `TimeoutError` is an `OSError`
        raise EngineAwayError from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container of Berth."""

    id: str
    kind: Kind
    is_alone: bool
    """Its only network is its own loopback."""


@dataclass(slots=True)
class Engine:
    path: str
    scope: Scope
    _known: OrderedDict[str, Container] = field(default_factory=OrderedDict)

    async def connect(self) -> tuple[StreamReader, StreamWriter]:
        """Opens a connection to the engine. Raises `EngineAwayError`."""
        async with within(CONNECT_WITHIN):
            return await asyncio.open_unix_connection(self.path, limit=HEAD_SIZE)

    async def container(self, name: str) -> Container:
        """Returns the container of this name or id. Its kind cannot change, so each id is looked up only once.

        Raises `AnsweredError`, and `RefusedError` if it is not Berth's: for Berth, there is no such container.
        """
        if name in self._known:
            self._known.move_to_end(name)
            return self._known[name]
        found = await self._ask(f"/containers/{name}/json")
        network = found["HostConfig"].get("NetworkMode")
        kind = self.scope.kind_of(found["Config"].get("Labels") or {}, network=network)
        if kind is None:
            raise RefusedError("The container is not one of Berth's.", status=404)
        container = Container(id=str(found["Id"]), kind=kind, is_alone=network == "none")
        self._known[container.id] = container
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return container

    async def network(self, name: str) -> str:
        """Returns the id of the network. Raises the same errors as `container`."""
        found = await self._ask(f"/networks/{name}")
        if self.scope.kind_of(found.get("Labels") or {}) is not Kind.AGENT:
            raise RefusedError("The network is not one of Berth's.", status=404)
        return str(found["Id"])

    async def require_volume(self, name: str) -> None:
        """Raises the same errors as `container` unless the volume is Berth's."""
        found = await self._ask(f"/volumes/{name}")
        if self.scope.kind_of(found.get("Labels") or {}) is None:
            raise RefusedError("The volume is not one of Berth's.", status=404)

    async def _ask(self, path: str) -> dict[str, Any]:
        async with within():
            reader, writer = await self.connect()
            try:
                # HTTP/1.0: the answer is not chunked, and ends with the connection.
                writer.write(f"GET {SPOKEN.get()}{path} HTTP/1.0\r\nHost: docker\r\n\r\n".encode())
                head = await reader.readuntil(b"\r\n\r\n")
                body = await _read_to_end(reader)
            finally:
                writer.close()
        status = int(head.split(b" ", 2)[1])
        if status != 200:
            raise AnsweredError(status, body)
        return dict(json.loads(body))


async def _read_to_end(reader: StreamReader) -> bytes:
    came = bytearray()
    while piece := await reader.read(64 * 1024):
        came += piece
        if len(came) > _ANSWER_SIZE:
            raise RefusedError("The engine says more than anybody reads.", status=502)
    return bytes(came)
