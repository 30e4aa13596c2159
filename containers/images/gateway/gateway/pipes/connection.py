"""An agent's connection, of which no more is read than its address has a share of the processor.

What a head, the length of a chunk or a trailer holds is read before anybody can look at it, and has no end of its own.
"""

import asyncio
import time
from typing import Any

from aiohttp.web_protocol import RequestHandler

from gateway.rules.share import Share


class Connection(RequestHandler):
    __slots__ = ("_address", "_is_held", "_share")

    def __init__(self, manager: Any, share: Share, **options: Any) -> None:
        super().__init__(manager, **options)
        self._share = share
        self._address = ""
        self._is_held = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._address = address_of(transport)
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._payload_parser is not None:
            super().data_received(data)  # a tunnel, which paces itself
            return
        began = time.thread_time()
        super().data_received(data)
        if (wait := self._share.take(self._address, time.thread_time() - began)) and not self._is_held:
            self._is_held = True
            self._pause_transport_reading()
            self._loop.call_later(wait, self._let_go)

    def _let_go(self) -> None:
        if self.transport is None:
            return
        if wait := self._share.wait_for(self._address):  # its other connections have taken what there was
            self._loop.call_later(wait, self._let_go)
            return
        self._is_held = False
        if not self._reading_paused and not self._buffer_paused:
            self._resume_transport_reading()

    def _resume_transport_reading(self) -> None:
        if not self._is_held:
            super()._resume_transport_reading()


def address_of(transport: asyncio.BaseTransport | None) -> str:
    peer = transport.get_extra_info("peername") if transport else None
    return str(peer[0]) if peer else ""
