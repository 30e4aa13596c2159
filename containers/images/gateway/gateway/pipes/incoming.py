"""A connection to an upstream, from which what comes can be taken in the moment in which it comes.

The library wakes a task for each piece of an answer, sets a timer anew, and looks whether reading was paused. Of
streams, whose pieces are single words, these took more of the processor than all that is done with the pieces.
"""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.helpers import _EXC_SENTINEL as _NONE
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader

LONGEST_HEAD = 256 * 1024
"""Bytes in front of an answer's body: of its own head, and of those that only say that it is to come."""


class Spent:
    """Seconds of the processor that it took to read an answer."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def add(self, seconds: float) -> None:
        self._seconds += seconds

    def take(self) -> float:
        """Those since the last time."""
        taken, self._seconds = self._seconds, 0.0
        return taken


class Incoming(ResponseHandler):
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.tell: Callable[[], None] | None = None
        """Called when something has come, or nothing more can come."""
        self._heard_at = 0.0
        self.spent = Spent()
        """On the present answer: what has one byte in each chunk takes a hundred times as long as what is one chunk."""
        self._former: StreamReader | None = None
        self._head = 0

    def set_response_params(self, **options: Any) -> None:
        self._former, self._head, self.spent = self._payload, 0, Spent()
        super().set_response_params(**options)

    def _read_of_head(self, size: int) -> None:
        """An upstream may say for ever that its answer is still to come, and so it would be read for ever."""
        self._head += size
        if self._head > LONGEST_HEAD and self.transport is not None:
            self.transport.abort()
            self.set_exception(aiohttp.ClientPayloadError())

    def data_received(self, data: bytes) -> None:
        began = time.thread_time()
        super().data_received(data)
        self.spent.add(time.thread_time() - began)
        if self._payload is self._former or self._payload is EMPTY_PAYLOAD:
            self._read_of_head(len(data))
        if self.tell is not None:
            self.tell()

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        if self.tell is not None:
            self.tell()

    def set_exception(self, exc: BaseException, exc_cause: BaseException = _NONE) -> None:
        """The library does not tell who waits for an answer that it cannot read any further."""
        super().set_exception(exc, exc_cause)
        if self._payload is not None and not self._payload.is_eof() and self._payload.exception() is None:
            self._payload.set_exception(aiohttp.ClientPayloadError())

    def resume_reading(self, resume_parser: bool = True) -> None:  # noqa: FBT001, FBT002 - the library's
        """The reader asks for it with each piece that it gives."""
        if self._reading_paused:
            super().resume_reading(resume_parser)

    def _reschedule_timeout(self) -> None:
        """One timer is enough: when it is due, it looks when something came last."""
        self._heard_at = self._loop.time()
        if self._read_timeout_handle is None or not self._read_timeout:
            super()._reschedule_timeout()

    def _on_read_timeout(self) -> None:
        left = self._heard_at + (self._read_timeout or 0.0) - self._loop.time()
        if left > 0:
            self._read_timeout_handle = self._loop.call_later(left, self._on_read_timeout)
            return
        super()._on_read_timeout()
        if self.tell is not None:
            self.tell()


class Answer(aiohttp.ClientResponse):
    spent: Spent
    """On it, also when the connection is another one's already."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        protocol = connection.protocol
        self.spent = protocol.spent if isinstance(protocol, Incoming) else Spent()
        return await super().start(connection)


class Connector(aiohttp.TCPConnector):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory = cast("partial[ResponseHandler]", partial(Incoming, self._loop))
