"""An agent's connection, of which no more is read than its address has a share of the processor.

What a head, the length of a chunk or a trailer holds is read before anybody can look at it, and has no end of its own.
Where the address is in debt, what comes on another connection of it waits too, or each new one would be read for free.

A connection is held until a moment that is known when that begins. What others of the same address take meanwhile puts
off theirs, and never its own: none is held for ever, and each has its turn.
"""

import asyncio
import time
from typing import Any

from aiohttp.web_protocol import RequestHandler

from gateway.rules.share import Share

OF_A_BYTE = 5e-9
"""Seconds that it takes to receive one: the kernel's, and for room in memory."""
OF_A_READ = 2e-5
"""Seconds that it takes beside to be told that there is something, and to read it."""
LEAST = 0.01
"""Seconds for which it is held at the least: to let it go so often would itself take the processor."""


class Connection(RequestHandler):
    __slots__ = ("_address", "_has_turn", "_held", "_later", "_share")

    def __init__(self, manager: Any, share: Share, **options: Any) -> None:
        super().__init__(manager, **options)
        self._share = share
        self._address = ""
        self._later = b""
        """What came and is not looked at while it is held."""
        self._has_turn = False
        """Whether it has just been held: what comes next is looked at."""
        self._held: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._address = address_of(transport)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._held is not None:
            self._held.cancel()
        self._later = b""
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if data and self._held is not None:  # a tunnel has let it go on
            self._later += data
            self._pause_transport_reading()
            return
        if data and self._payload_parser is None:
            debt, has_turn, self._has_turn = self._share.wait_for(self._address), self._has_turn, False
            self._share.take(self._address, OF_A_READ + len(data) * OF_A_BYTE)
            if debt and not has_turn:
                self._later = data
                self._hold(debt)
                return
        self._look_at(data)

    def _look_at(self, data: bytes) -> None:
        if self._payload_parser is not None:
            super().data_received(data)  # a tunnel, which paces itself
            return
        began = time.thread_time()
        super().data_received(data)
        if (wait := self._share.take(self._address, time.thread_time() - began)) and self._held is None:
            self._hold(wait)

    def _hold(self, seconds: float) -> None:
        self._pause_transport_reading()
        self._held = self._loop.call_later(max(seconds, LEAST), self._let_go)

    def _let_go(self) -> None:
        self._held = None
        self._has_turn = not self._later
        if self._later:
            data, self._later = self._later, b""
            self._look_at(data)
        if not self._reading_paused and not self._buffer_paused:
            self._resume_transport_reading()

    def _resume_transport_reading(self) -> None:
        if self._held is None:
            super()._resume_transport_reading()


def address_of(transport: asyncio.BaseTransport | None) -> str:
    peer = transport.get_extra_info("peername") if transport else None
    return str(peer[0]) if peer else ""
