"""Passes bytes between an agent and a host that it may reach, as fast as both accept them."""

import asyncio
from collections import defaultdict
from contextlib import suppress
from functools import partial
from typing import Any

from aiohttp import web
from aiohttp.base_protocol import BaseProtocol

from gateway.entries.entry import Entry
from gateway.pipes.piece_filter import BEGUN, BrokenError, Pay
from gateway.rules.rates import Rates
from gateway.rules.refusals import RefusedError, Why
from gateway.tunnels.connect import Resolve, open_far_end
from gateway.tunnels.idleness import IdleError, send_rest, unless_idle, unsent
from gateway.tunnels.lookups import PROJECT
from gateway.tunnels.target import Target, is_allowed

MOST = 32
"""Simultaneous tunnels of one project."""
PIECE = 65536
OPEN = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Ended(web.StreamResponse):
    """A response that sends nothing, for a tunnel that has ended."""

    async def prepare(self, _request: web.BaseRequest) -> None:
        self.force_close()

    async def write_eof(self, _data: bytes = b"") -> None:
        return None


class Tunnels:
    def __init__(self, rates: Rates, resolve: Resolve) -> None:
        self._rates = rates
        self._resolve = resolve
        self._open: defaultdict[str, dict[asyncio.Transport, asyncio.WriteTransport | None]] = defaultdict(dict)
        """The connections of each project's agent, with those to the hosts as far as they are open."""
        self._ending: set[asyncio.Task[None]] = set()

    async def call(self, request: web.BaseRequest, entry: Entry, target: Target) -> web.StreamResponse:
        """Returns when the tunnel has ended. Raises RefusedError before the tunnel is open."""
        project = entry.project
        if not is_allowed(target, entry.hosts):
            raise RefusedError(Why.FORBIDDEN, "This agent may not reach that host.")
        near = request.transport
        if near is None:
            raise BrokenError
        PROJECT.set(project)
        self._enter(project, near)
        try:
            reader, writer = await open_far_end(target, self._resolve)
        except BaseException:
            self._leave(project, near)
            raise
        far = self._open[project][near] = writer.transport
        try:
            pay = partial(self._rates.pay, entry)
            await _carry(request, Forwarder(request.protocol, writer, pay), reader, pay)
        except IdleError:
            near.abort()
            far.abort()
        finally:
            ending = asyncio.create_task(self._end(project, near, far))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
        return Ended()

    def end_of(self, project: str) -> None:
        """Cuts the tunnels of a project whose allowed hosts have changed."""
        for near, far in list(self._open.get(project, {}).items()):
            near.abort()
            if far is not None:
                far.abort()

    def _enter(self, project: str, near: asyncio.Transport) -> None:
        mine = self._open[project]
        if len(mine) >= MOST:
            raise RefusedError(Why.RATE, "This agent has too many connections open.", retry_after=1)
        mine[near] = None

    def _leave(self, project: str, near: asyncio.Transport) -> None:
        mine = self._open[project]
        del mine[near]
        if not mine:
            del self._open[project]

    async def _end(self, project: str, near: asyncio.Transport, far: asyncio.WriteTransport) -> None:
        """Sends both sides what is left for them. The tunnel counts until then, because that takes memory."""
        try:
            await asyncio.gather(send_rest(near), send_rest(far))
        finally:
            self._leave(project, near)


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
        self._came = 0

    def mark(self) -> tuple[int, ...]:
        """Returns numbers that change when anything moves to either side."""
        near = self._near.transport
        return self._came, unsent(near) if near else 0, unsent(self._writer.transport)

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self._came += len(data)
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
    """Returns when the host sends no more. Raises IdleError."""
    protocol: Any = request.protocol
    writer: Any = request.writer
    request[BEGUN] = True
    with suppress(OSError):
        await writer.write(OPEN)
        protocol.set_parser(forwarder)
        while piece := await unless_idle(partial(reader.read, PIECE), forwarder.mark):
            await writer.write(piece, drain=False)
            if protocol.writing_paused:
                await _drain(request, forwarder)
            await asyncio.sleep(pay(len(piece)))


async def _drain(request: web.BaseRequest, forwarder: Forwarder) -> None:
    """Waits until the agent has read enough. Raises IdleError."""
    draining = asyncio.ensure_future(request.writer.drain())
    try:
        # The library cannot drain again after its wait was cancelled.
        await unless_idle(partial(asyncio.shield, draining), forwarder.mark)
    finally:
        draining.cancel()
