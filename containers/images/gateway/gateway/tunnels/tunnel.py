"""Passes bytes between an agent and a host that it may reach, as fast as both accept them."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from aiohttp import web
from aiohttp.base_protocol import BaseProtocol

from gateway.entries.entry import Entry
from gateway.pipes.piece_filter import BEGUN, BrokenError, Pay
from gateway.rules.rates import Rates
from gateway.rules.refusals import RefusedError, Why
from gateway.tunnels.connect import Resolve, open_far_end, resolve
from gateway.tunnels.target import Target, is_allowed

MOST = 32
"""Simultaneous tunnels of one project."""
IDLE_FOR = 300.0
"""Seconds without traffic after which a tunnel is closed."""
PIECE = 65536
OPEN = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Ended(web.StreamResponse):
    """A response that sends nothing, for a tunnel that has ended."""

    async def prepare(self, _request: web.BaseRequest) -> None:
        self.force_close()

    async def write_eof(self, _data: bytes = b"") -> None:
        return None


class Tunnels:
    def __init__(self, rates: Rates, resolve: Resolve = resolve) -> None:
        self._rates = rates
        self._resolve = resolve
        self._open: defaultdict[str, set[asyncio.Transport]] = defaultdict(set)

    async def call(self, request: web.BaseRequest, entry: Entry, target: Target) -> web.StreamResponse:
        """Returns when the tunnel has ended. Raises RefusedError before the tunnel is open."""
        if not is_allowed(target, entry.hosts):
            raise RefusedError(Why.FORBIDDEN, "This agent may not reach that host.")
        near = request.transport
        if near is None:
            raise BrokenError
        with self._count(entry, near):
            reader, writer = await open_far_end(target, self._resolve)
            try:
                pay = partial(self._rates.pay, entry)
                await _carry(request, Forwarder(request.protocol, writer, pay), reader, pay)
            finally:
                writer.transport.abort() if near.is_closing() else writer.close()
                near.close()
        return Ended()

    def end_of(self, project: str) -> None:
        """Cuts the tunnels of a project whose allowed hosts have changed."""
        for transport in list(self._open.get(project, ())):
            transport.abort()

    @contextmanager
    def _count(self, entry: Entry, near: asyncio.Transport) -> Iterator[None]:
        mine = self._open[entry.project]
        if len(mine) >= MOST:
            raise RefusedError(Why.RATE, "This agent has too many connections open.", retry_after=1)
        mine.add(near)
        try:
            yield
        finally:
            mine.discard(near)
            if not mine:
                self._open.pop(entry.project, None)


class Forwarder:
    """Forwards the agent's bytes to the host. It replaces the server's request parser.

    It pauses the connection, not the transport, because the connection also pauses for other reasons and must not
    resume while one of them lasts.
    """

    def __init__(self, near: BaseProtocol, writer: asyncio.StreamWriter, pay: Pay) -> None:
        self._near = near
        self._writer = writer
        self._pay = pay
        self._loop = asyncio.get_running_loop()
        self._draining: asyncio.Task[None] | None = None
        self.moved_at = self._loop.time()

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self.moved_at = self._loop.time()
        self._writer.write(data)
        wait, is_full = self._pay(len(data)), self._writer.transport.get_write_buffer_size() > PIECE
        if wait or is_full:
            self._near.pause_reading()  # again, because the connection may have been resumed meanwhile
            if self._draining is None:
                self._draining = self._loop.create_task(self._drain(wait))
        return False, b""

    def feed_eof(self) -> None:
        self._writer.close()

    async def _drain(self, wait: float) -> None:
        try:
            await asyncio.sleep(wait)
            with suppress(OSError):
                await self._writer.drain()
        finally:
            self._draining = None
            self._near.resume_reading(resume_parser=False)


async def _carry(request: web.BaseRequest, forwarder: Forwarder, reader: asyncio.StreamReader, pay: Pay) -> None:
    loop = asyncio.get_running_loop()
    protocol: Any = request.protocol
    request[BEGUN] = True
    with suppress(OSError):
        await request.writer.write(OPEN)
        protocol.set_parser(forwarder)
        while True:
            try:
                async with asyncio.timeout(IDLE_FOR):
                    piece = await reader.read(PIECE)
            except TimeoutError:
                if reader.exception() is not None:
                    raise  # the host's connection has failed: the next read would raise the same error at once
                if loop.time() - forwarder.moved_at >= IDLE_FOR:
                    return
                continue
            if not piece:
                return
            await request.writer.write(piece)
            await asyncio.sleep(pay(len(piece)))
