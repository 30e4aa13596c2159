"""An agent's connection, which reads no faster than its address's share of the processor allows.

The library reads heads, chunk lengths and trailers before the gateway sees them. If an address has used more than its
share, data on its other connections waits too. Otherwise each new connection would be read for free. What the library
keeps of them is limited in length, because all connections of an address together would fill the gateway's memory.

A connection is paused until a fixed time. Processor time that other connections of the same address use meanwhile
postpones only those, so no connection is paused forever.
"""

import asyncio
import time
from typing import Any

from aiohttp import web_protocol
from aiohttp.web_protocol import RequestHandler

from gateway.pipes.head_sizes import HeadSizes
from gateway.rules.cpu_share import CpuShare

SECONDS_PER_BYTE = 5e-9
"""The processor time to receive a byte, in the kernel and for memory."""
SECONDS_PER_READ = 2e-5
"""The additional processor time for each read."""
SECONDS_PER_REQUEST = 1e-3
"""The additional processor time to look at a request and to answer it. A task does that, whose time is not measured."""
SHORTEST_HOLD = 0.01
"""The shortest pause in seconds, because many short pauses would themselves use the processor."""
PIPELINED = 2
"""The requests behind the one in progress that are parsed. What follows them is not read until there is room."""
TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

web_protocol.MAX_MSG_QUEUE_SIZE = PIPELINED  # the library's own limit is 32, and it is no option


class AgentConnection(RequestHandler):
    __slots__ = ("_address", "_deferred", "_has_turn", "_head_sizes", "_held", "_share")

    def __init__(self, manager: Any, share: CpuShare, **options: Any) -> None:
        super().__init__(manager, **options)
        self._share = share
        self._address = ""
        self._deferred = b""
        """Data that arrived and is processed after the pause."""
        self._has_turn = False
        """Whether the connection has just been paused, so that the next data is processed."""
        self._held: asyncio.TimerHandle | None = None
        """The timer that ends the pause, if the connection is paused."""
        self._head_sizes = HeadSizes()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._address = address_of(transport)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._held is not None:
            self._held.cancel()
        self._deferred = b""
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if data and self._held is not None:  # a tunnel has resumed reading
            self._deferred += data
            self._pause_transport_reading()
            return
        if data and self._payload_parser is None:
            debt, has_turn, self._has_turn = self._share.wait_for(self._address), self._has_turn, False
            self._share.take(self._address, SECONDS_PER_READ + len(data) * SECONDS_PER_BYTE)
            if debt and not has_turn:
                self._deferred = data
                self._hold(debt)
                return
        self._process(data)

    def _process(self, data: bytes) -> None:
        if self._payload_parser is not None:
            super().data_received(data)  # a tunnel, which paces itself
            return
        began, requests = time.thread_time(), self._request_count
        super().data_received(data)
        new = self._request_count - requests
        spent = time.thread_time() - began + new * SECONDS_PER_REQUEST
        if (wait := self._share.take(self._address, spent)) and self._held is None:
            self._hold(wait)
        newest = self._messages[-1][1] if new else None
        if self._head_sizes.is_too_long(0 if self._upgraded else len(data), newest):
            self._refuse()

    def _refuse(self) -> None:
        """Closes the connection, with an answer if none is in progress."""
        if self.transport is not None and self._current_request is None and not self._messages:
            self.transport.write(TOO_LONG)
        self.force_close()

    def _hold(self, seconds: float) -> None:
        self._pause_transport_reading()
        self._held = self._loop.call_later(max(seconds, SHORTEST_HOLD), self._release)

    def _release(self) -> None:
        self._held = None
        self._has_turn = not self._deferred
        if self._deferred:
            data, self._deferred = self._deferred, b""
            self._process(data)
        if not self._reading_paused and not self._buffer_paused:
            self._resume_transport_reading()

    def resume_reading(self, resume_parser: bool = True) -> None:  # noqa: FBT001, FBT002 - the library's
        """Does nothing unless reading is paused, because the reader calls this for each piece."""
        if self._reading_paused:
            super().resume_reading(resume_parser)

    def _resume_transport_reading(self) -> None:
        if self._held is None:
            super()._resume_transport_reading()


def address_of(transport: asyncio.BaseTransport | None) -> str:
    """Returns the IP address of the other side, or "" if it is unknown."""
    peer = transport.get_extra_info("peername") if transport else None
    return str(peer[0]) if peer else ""
