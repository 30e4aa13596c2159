"""An upstream, an agent and a forwarding server between them, in one process."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

from aiohttp import web
from gateway.meters.document_meter import BlindMeter
from gateway.pipes.forwarding import pass_on
from gateway.pipes.upstream import ask, open_client

from tests.gateway.process import PATIENCE

SECRET = "sk-the-real-one"
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class Scene:
    """An upstream, an agent and a forwarding server between them."""

    def __init__(self) -> None:
        self.upstream: asyncio.StreamWriter
        self.asked = asyncio.Queue[asyncio.StreamWriter]()
        self.requests: list[web.BaseRequest] = []
        self.ends: list[BaseException | None] = []
        self.waits: list[float] = []
        self.opened: list[asyncio.StreamWriter] = []
        self.port = 0
        self.spent = 0.0

    async def begin(self, first: bytes = chunk(b"first")) -> asyncio.StreamReader:
        """Starts an answer. Returns its reader once the agent has received the first piece."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**25)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        self.agent, self.upstream = writer, await self.asked.get()
        self.opened += [writer, self.upstream]
        self.upstream.write(HEAD + first)
        await reader.readuntil(first[-5:])
        return reader

    async def take(self, reader: asyncio.StreamReader, data: bytes) -> None:
        """Sends a piece from the upstream, and checks that the agent receives it unchanged."""
        self.upstream.write(chunk(data))
        assert await reader.readexactly(len(chunk(data))) == chunk(data)

    def pay(self, _size: int, spent: float = 0.0, /) -> float:
        self.spent += spent
        return self.waits.pop() if self.waits else 0.0

    async def answer(self, request: web.BaseRequest, client: Any, url: str) -> web.StreamResponse:
        self.requests.append(request)
        try:
            async with ask(client, "GET", url, headers={}) as answer:
                response = await pass_on(
                    request,
                    answer,
                    secrets=(SECRET,),
                    meter=BlindMeter(),
                    pay=self.pay,
                )
        except BaseException as error:
            self.ends.append(error)
            if request.transport:
                request.transport.abort()
            raise
        self.ends.append(None)
        return response


@asynccontextmanager
async def opened() -> AsyncIterator[Scene]:
    scene = Scene()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"\r\n\r\n"):
                await scene.asked.put(writer)

    upstream = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{upstream.sockets[0].getsockname()[1]}/"
    async with open_client() as client:
        server = web.Server(cast(Any, lambda request: scene.answer(request, client, url)), handler_cancellation=True)
        listening = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
        for each in (upstream, listening):
            each.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        scene.port = listening.sockets[0].getsockname()[1]
        try:
            yield scene
        finally:
            listening.close()
            await server.shutdown(0.1)
            upstream.close()
            for writer in scene.opened:
                writer.transport.abort()
                with suppress(OSError):
                    await writer.wait_closed()


def run(scene: Callable[[Scene], Coroutine[Any, Any, None]]) -> None:
    async def play() -> None:
        async with opened() as stage:
            await scene(stage)

    asyncio.run(asyncio.wait_for(play(), PATIENCE))
