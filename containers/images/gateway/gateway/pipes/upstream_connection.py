"""A connection to an upstream that hands over data the moment it arrives.

For each piece of an answer, the library wakes a task, restarts a timer and checks whether reading was paused. In
streams, whose pieces are single words, this used more processor time than all processing of the pieces.
"""

import asyncio
import time
from functools import partial
from typing import Any, Protocol, cast

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey
from aiohttp.connector import Connection
from aiohttp.helpers import _EXC_SENTINEL as _NONE
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader

from gateway.pipes.chunks import is_between_chunks, payload_of_chunk

MAX_HEAD = 256 * 1024
"""The most bytes before an answer's body: its own head, and interim responses such as `103 Early Hints`."""

SHORT_READ = 4096
"""Bytes. A shorter read is timed by the wall clock, because the call for the thread's processor time takes as long as
the read itself. The time of other processes then counts too, but no more than `SECONDS_PER_BYTE` allows."""
SECONDS_PER_BYTE = 1e-6
"""The most processor time to read a byte, if each byte is a chunk of its own."""


class CpuTime:
    """Adds up the processor time, in seconds, that an answer takes."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def add(self, seconds: float) -> None:
        self._seconds += seconds

    def take(self) -> float:
        """Returns the seconds since the last call."""
        taken, self._seconds = self._seconds, 0.0
        return taken


class Listener(Protocol):
    """Is notified when data arrives. Its methods must not raise errors."""

    def data_arrived(self) -> None:
        """Data has arrived, or no more data will arrive."""

    def chunk_arrived(self, chunk: bytes, payload: bytes) -> bool:
        """A whole chunk with this payload has arrived. Returns whether it was consumed; if not, the parser reads it."""


class UpstreamConnection(ResponseHandler):
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.listener: Listener | None = None
        self._is_between_chunks = False
        """Whether the parser expects the start of a chunk, so that a whole chunk can bypass it."""
        self._last_data_at = 0.0
        self.cpu_time = CpuTime()
        """The time spent on the current answer. An answer with one byte per chunk takes a hundred times as long as one
        with a single chunk."""
        self._previous: StreamReader | None = None
        self._head_size = 0
        self.is_idle = False
        """Whether no answer is expected, so that the library would take what arrives for that to the next request."""

    def set_response_params(self, **options: Any) -> None:
        self._is_between_chunks = self.is_idle = False
        self._previous, self._head_size, self.cpu_time = self._payload, 0, CpuTime()
        super().set_response_params(**options)

    def _count_head(self, size: int) -> None:
        """Ends the connection if the head is too long, because an upstream could send interim responses forever."""
        self._head_size += size
        if self._head_size > MAX_HEAD and self.transport is not None:
            self.transport.abort()
            self.set_exception(aiohttp.ClientPayloadError())

    def data_received(self, data: bytes) -> None:
        if data and self.is_idle and self.transport is not None:
            self.transport.abort()
            return
        listener = self.listener
        if self._is_between_chunks and listener is not None and not self._reading_paused:
            payload = payload_of_chunk(data)
            if payload and listener.chunk_arrived(data, payload):
                self._last_data_at = self._loop.time()
                return
        self._parse(data)
        if self.listener is not None:
            self.listener.data_arrived()

    def _parse(self, data: bytes) -> None:
        is_short = 0 < len(data) <= SHORT_READ  # without new data, the parser continues to decompress
        clock = time.monotonic if is_short else time.thread_time
        began = clock()
        super().data_received(data)
        took = clock() - began
        self.cpu_time.add(min(took, len(data) * SECONDS_PER_BYTE) if is_short else took)
        if self._payload is self._previous or self._payload is EMPTY_PAYLOAD:
            self._count_head(len(data))
            self._is_between_chunks = False
        else:
            self._is_between_chunks = not self._reading_paused and is_between_chunks(self._payload, data)

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        if self.listener is not None:
            self.listener.data_arrived()

    def set_exception(self, exc: BaseException, exc_cause: BaseException = _NONE) -> None:
        """Also notifies the reader of the answer, which the library does not do if it cannot parse the rest."""
        super().set_exception(exc, exc_cause)
        if self._payload is not None and not self._payload.is_eof() and self._payload.exception() is None:
            self._payload.set_exception(aiohttp.ClientPayloadError())

    def resume_reading(self, resume_parser: bool = True) -> None:  # noqa: FBT001, FBT002 - the library's
        """Does nothing unless reading is paused, because the reader calls this for each piece."""
        if self._reading_paused:
            super().resume_reading(resume_parser)

    def _reschedule_timeout(self) -> None:
        """Keeps the running timer, which checks when it fires how long ago the last data arrived."""
        self._last_data_at = self._loop.time()
        if self._read_timeout_handle is None or not self._read_timeout:
            super()._reschedule_timeout()

    def _on_read_timeout(self) -> None:
        left = self._last_data_at + (self._read_timeout or 0.0) - self._loop.time()
        if left > 0:
            self._read_timeout_handle = self._loop.call_later(left, self._on_read_timeout)
            return
        super()._on_read_timeout()
        if self.listener is not None:
            self.listener.data_arrived()


class Answer(aiohttp.ClientResponse):
    cpu_time: CpuTime
    """The time spent on this answer, even if the connection already serves another one."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        protocol = connection.protocol
        self.cpu_time = protocol.cpu_time if isinstance(protocol, UpstreamConnection) else CpuTime()
        return await super().start(connection)


class Connector(aiohttp.TCPConnector):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory = cast("partial[ResponseHandler]", partial(UpstreamConnection, self._loop))

    def _release(self, key: ConnectionKey, protocol: ResponseHandler, *, should_close: bool = False) -> None:
        super()._release(key, protocol, should_close=should_close)
        if isinstance(protocol, UpstreamConnection):
            protocol.is_idle = True


def cpu_time_of(answer: aiohttp.ClientResponse) -> CpuTime:
    return answer.cpu_time if isinstance(answer, Answer) else CpuTime()
