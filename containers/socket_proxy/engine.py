"""The engine's socket: a connection for each request, and what the proxy itself asks."""

import asyncio
import json
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader, StreamWriter
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from containers.socket_proxy.requests import HEAD_SIZE, RefusedError
from containers.socket_proxy.words import Kind, Scope

CONNECT_WITHIN = 5.0
ASK_WITHIN = 15.0
"""Seconds for what the proxy itself asks, and for what it has to read of an answer before it passes that on."""

_API = "/v1.41"
_ANSWER_SIZE = 8 * 1024 * 1024
_REMEMBERED = 20_000


class EngineAwayError(Exception):
    """The engine does not answer, or not in time. Its client is told as by a dead socket: by no answer at all."""


class AnsweredError(Exception):
    """The engine has refused what the proxy asked. Its answer is the client's."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


@asynccontextmanager
async def within(seconds: float = ASK_WITHIN) -> AsyncIterator[None]:
    """For what is asked of the engine alone. Raises `EngineAwayError`, also where it takes longer."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except (OSError, IncompleteReadError, LimitOverrunError) as error:  # of which `TimeoutError` is one
        raise EngineAwayError from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One of Berth's."""

    id: str
    kind: Kind
    is_alone: bool
    """It has no network but its own loopback."""


@dataclass(slots=True)
class Engine:
    path: str
    scope: Scope
    _known: OrderedDict[str, Container] = field(default_factory=OrderedDict)

    async def connect(self) -> tuple[StreamReader, StreamWriter]:
        """Raises `EngineAwayError`."""
        async with within(CONNECT_WITHIN):
            return await asyncio.open_unix_connection(self.path, limit=HEAD_SIZE)

    async def container(self, name: str) -> Container:
        """The container of this name or id. What it is cannot change, so that an id is asked about once.

        Raises `AnsweredError`, and `RefusedError` for one that is not Berth's: to Berth there is no such container.
        """
        if name in self._known:
            self._known.move_to_end(name)
            return self._known[name]
        found = await self._ask(f"/containers/{name}/json")
        kind = self.scope.kind_of(found["Config"].get("Labels") or {})
        if kind is None:
            raise RefusedError("The container is not one of Berth's.", status=404)
        network = found["HostConfig"].get("NetworkMode")
        container = Container(id=str(found["Id"]), kind=kind, is_alone=network == "none")
        self._known[container.id] = container
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return container

    async def network(self, name: str) -> str:
        """The id of the network. Raises as `container` does."""
        found = await self._ask(f"/networks/{name}")
        if self.scope.kind_of(found.get("Labels") or {}) is not Kind.AGENT:
            raise RefusedError("The network is not one of Berth's.", status=404)
        return str(found["Id"])

    async def require_volume(self, name: str) -> None:
        """Raises as `container` does."""
        found = await self._ask(f"/volumes/{name}")
        if self.scope.kind_of(found.get("Labels") or {}) is None:
            raise RefusedError("The volume is not one of Berth's.", status=404)

    async def _ask(self, path: str) -> dict[str, Any]:
        async with within():
            reader, writer = await self.connect()
            try:
                # HTTP/1.0: the answer comes without chunks, and ends with the connection.
                writer.write(f"GET {_API}{path} HTTP/1.0\r\nHost: docker\r\n\r\n".encode())
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
