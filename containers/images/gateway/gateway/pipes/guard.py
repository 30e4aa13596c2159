"""Limits what agents may do to the server: their connections, and the size and slowness of request bodies."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from typing import Any

from aiohttp import HttpVersion11, web
from aiohttp.web_protocol import RequestHandler

from gateway.pipes.agent_connection import AgentConnection, address_of
from gateway.rules.cpu_share import CpuShare
from gateway.rules.refusals import RefusedError, Why
from gateway.rules.throttle import Throttle

SILENCE = 20.0
"""Seconds that an agent may take for the next piece of a body."""
BODY_WITHIN = 120.0
"""Seconds for a body that is read completely before the upstream is asked."""
TOO_FAST = 1.0
"""Seconds by which the new connections of an address may be ahead of their rate, beyond the allowed burst."""

Block = Callable[[str, float], None]
"""Keeps an address away for some seconds."""


class GuardedServer(web.Server):
    """Aborts connections of an address that has too many or opens them too fast.

    So one agent cannot use up the file descriptors or the processor for all others. `block` keeps further connections
    of an address away for some seconds.
    """

    def __init__(
        self, handler: Any, *, most: int, throttle: Throttle, block: Block, share: CpuShare, **options: Any
    ) -> None:
        super().__init__(handler, **options)
        self._most = most
        self._share = share
        self._throttle = throttle
        self._block = block
        self._open: defaultdict[str, int] = defaultdict(int)
        self._counted: dict[RequestHandler, str] = {}

    def __call__(self) -> RequestHandler:
        return AgentConnection(self, self._share, loop=self._loop, **self._kwargs)

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        address = address_of(transport)
        self._counted[handler] = address
        self._open[address] += 1
        wait = self._throttle.wait_for(address)
        if wait > TOO_FAST:
            self._block(address, wait)
        if wait > TOO_FAST or self._open[address] > self._most:
            transport.abort()

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        address = self._counted.pop(handler, None)
        if address is not None:
            self._open[address] -= 1
            if not self._open[address]:
                del self._open[address]


def length_of(request: web.BaseRequest, most: int) -> int | None:
    """Returns the body's length that the request announces, or None.

    Raises RefusedError if it is too long, or if the body is compressed, because it could unpack to any size.
    """
    if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise RefusedError(Why.BAD, "A compressed request cannot be read. Send it as it is.")
    length = request.content_length
    if length is not None and length > most:
        raise too_large(most)
    return length


async def pieces_of(request: web.BaseRequest, most: int) -> AsyncIterator[bytes]:
    """Yields the body as it arrives. Raises RefusedError if it is too long or too slow."""
    length_of(request, most)
    if request.headers.get("Expect", "").lower() == "100-continue" and request.version >= HttpVersion11:
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    came = 0
    while True:
        try:
            async with asyncio.timeout(SILENCE):
                piece = await request.content.readany()
        except TimeoutError:
            raise RefusedError(Why.BAD, "The rest of the request did not come.") from None
        if not piece:
            return
        came += len(piece)
        if came > most:
            raise too_large(most)
        yield piece


async def read_start(pieces: AsyncIterator[bytes], size: int) -> bytes:
    """Returns the first pieces of a body: all of them, or more than `size` bytes.

    Raises RefusedError if they are too long or too slow.
    """
    start = bytearray()
    try:
        async with asyncio.timeout(BODY_WITHIN):
            async for piece in pieces:
                start += piece
                if len(start) > size:
                    break
    except TimeoutError:
        raise RefusedError(Why.BAD, "The rest of the request did not come.") from None
    return bytes(start)


async def read_body(request: web.BaseRequest, most: int) -> bytes:
    """Returns the whole body. Raises RefusedError if it is too long or too slow."""
    return await read_start(pieces_of(request, most), most)


def too_large(most: int) -> RefusedError:
    return RefusedError(Why.TOO_LARGE, f"The request is larger than {most // 1024} KiB.")
