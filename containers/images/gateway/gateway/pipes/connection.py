"""An agent's connection, of which no more is read than its address has a share of the processor.

What a head, the length of a chunk or a trailer holds is read before anybody can look at it, and has no end of its own.

A connection that is held is let go at the moment at which its own reading is paid for. What others of the same address
take meanwhile puts off theirs, and never its own: none is held for ever, and each has its turn.
"""

import asyncio
import time
from typing import Any

from aiohttp.web_protocol import RequestHandler

from gateway.rules.rates import OF_A_BYTE
from gateway.rules.share import Share

OF_A_READ = 2e-5
"""Seconds that it takes to be told that there is something, and to read it, beside those of its bytes."""
LEAST = 0.01
"""Seconds for which it is held at the least: to let it go so often would itself take the processor."""


class Connection(RequestHandler):
    __slots__ = ("_address", "_held", "_share")

    def __init__(self, manager: Any, share: Share, **options: Any) -> None:
        super().__init__(manager, **options)
        self._share = share
        self._address = ""
        self._held: asyncio.TimerHandle | None = None
        """Until when it is held, if it is."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._address = address_of(transport)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._held is not None:
            self._held.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._payload_parser is not None:
            super().data_received(data)  # a tunnel, which paces itself
            return
        began = time.thread_time()
        super().data_received(data)
        taken = time.thread_time() - began
        if data:  # else the parser goes on with what it had
            taken += OF_A_READ + len(data) * OF_A_BYTE
        if (wait := self._share.take(self._address, taken)) and self._held is None:
            self._pause_transport_reading()
            self._held = self._loop.call_later(max(wait, LEAST), self._let_go)

    def _let_go(self) -> None:
        self._held = None
        if not self._reading_paused and not self._buffer_paused:
            self._resume_transport_reading()

    def _resume_transport_reading(self) -> None:
        if self._held is None:
            super()._resume_transport_reading()


def address_of(transport: asyncio.BaseTransport | None) -> str:
    peer = transport.get_extra_info("peername") if transport else None
    return str(peer[0]) if peer else ""
