"""A connection to an upstream, from which what comes can be taken in the moment in which it comes.

The library wakes a task for each piece of an answer, sets a timer anew, and looks whether reading was paused. Of
streams, whose pieces are single words, these took more of the processor than all that is done with the pieces.
"""

import asyncio
import time
from functools import partial
from typing import Any, Protocol, cast

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.helpers import _EXC_SENTINEL as _NONE
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader

from gateway.pipes.chunks import is_between_chunks, text_of_chunk

LONGEST_HEAD = 256 * 1024
"""Bytes in front of an answer's body: of its own head, and of those that only say that it is to come."""

SHORT = 4096
"""Bytes that come at a time of which the processor's own clock is not asked, which takes as long as to read them. What
others took of the processor meanwhile counts then too, up to what reading them can have taken."""
OF_A_BYTE = 1e-6
"""Seconds that it takes to read one, at the most: where each is a chunk."""


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


class Listener(Protocol):
    """To whom what comes is told. Nothing that it does may raise anything."""

    def take(self) -> None:
        """Something has come, or nothing more can come."""

    def take_chunk(self, chunk: bytes, text: bytes) -> bool:
        """One whole chunk has come, with this in it. Returns whether it was taken; otherwise it is read as all else."""


class Incoming(ResponseHandler):
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.listener: Listener | None = None
        self._is_between = False
        """Whether the parser waits for a chunk to begin, so that it needs not see one that has come as a whole."""
        self._heard_at = 0.0
        self.spent = Spent()
        """On the present answer: what has one byte in each chunk takes a hundred times as long as what is one chunk."""
        self._former: StreamReader | None = None
        self._head = 0

    def set_response_params(self, **options: Any) -> None:
        self._is_between = False
        self._former, self._head, self.spent = self._payload, 0, Spent()
        super().set_response_params(**options)

    def _read_of_head(self, size: int) -> None:
        """An upstream may say for ever that its answer is still to come, and so it would be read for ever."""
        self._head += size
        if self._head > LONGEST_HEAD and self.transport is not None:
            self.transport.abort()
            self.set_exception(aiohttp.ClientPayloadError())

    def data_received(self, data: bytes) -> None:
        listener = self.listener
        if self._is_between and listener is not None and not self._reading_paused:
            text = text_of_chunk(data)
            if text and listener.take_chunk(data, text):
                self._heard_at = self._loop.time()
                return
        self._parse(data)
        if self.listener is not None:
            self.listener.take()

    def _parse(self, data: bytes) -> None:
        is_short = 0 < len(data) <= SHORT  # with nothing it goes on unpacking what it has
        clock = time.monotonic if is_short else time.thread_time
        began = clock()
        super().data_received(data)
        took = clock() - began
        self.spent.add(min(took, len(data) * OF_A_BYTE) if is_short else took)
        if self._payload is self._former or self._payload is EMPTY_PAYLOAD:
            self._read_of_head(len(data))
            self._is_between = False
        else:
            self._is_between = not self._reading_paused and is_between_chunks(self._payload, data)

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        if self.listener is not None:
            self.listener.take()

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
        if self.listener is not None:
            self.listener.take()


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
