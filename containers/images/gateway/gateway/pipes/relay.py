"""Passes on pieces of an answer the moment they arrive, as long as nothing prevents it."""

import asyncio

import aiohttp
from aiohttp import web

from gateway.pipes.piece_filter import PieceFilter
from gateway.pipes.upstream_connection import UpstreamConnection, cpu_time_of


class Relay:
    """Relays a chunked answer whose head has already been sent to the agent."""

    def __init__(
        self,
        request: web.BaseRequest,
        response: web.StreamResponse,
        answer: aiohttp.ClientResponse,
        piece_filter: PieceFilter,
    ) -> None:
        connection = answer.connection
        self._incoming = connection.protocol if connection else None
        self._cpu_time = cpu_time_of(answer)
        self._may_pass = response.chunked and "Content-Encoding" not in answer.headers  # otherwise it must be unpacked
        self._content = answer.content
        self._agent = request.protocol
        self._piece_filter = piece_filter
        self._is_passing = False
        self._error: BaseException | None = None
        self._stopped: asyncio.Future[float] | None = None

    def pay(self, piece: bytes) -> float:
        return self._piece_filter.pay(len(piece), self._cpu_time.take())

    async def run(self) -> float:
        """Relays until the answer ends, breaks off or arrives too fast, or until the agent accepts no more.

        Returns the seconds for which nothing more may be passed on. Raises the errors of the piece filter.
        """
        if not self._may_pass or not isinstance(self._incoming, UpstreamConnection) or self._has_ended():
            return 0.0
        self._stopped = asyncio.get_running_loop().create_future()
        self._incoming.listener = self
        try:
            self.data_arrived()
            wait = await self._stopped
        finally:
            self._detach()
        if self._error is not None:
            raise self._error
        return wait

    def data_arrived(self) -> None:
        # Runs inside the upstream connection, so errors are kept and raised by `run`.
        if self._is_passing or self._stopped is None or self._stopped.done():
            return
        self._is_passing = True
        try:
            wait = self._pass_pieces()
        except Exception as error:  # noqa: BLE001 - raised where the answer is waited for
            self._error, wait = error, 0.0
        finally:
            self._is_passing = False
        if wait is not None:
            self._stop(wait)

    def chunk_arrived(self, chunk: bytes, payload: bytes) -> bool:
        """Passes on the chunk unchanged if possible. Everything before it has been passed on."""
        is_paused = self._agent._paused  # noqa: SLF001 - the public property is a call for each piece
        transport = self._agent.transport
        if is_paused or self._is_passing or transport is None or transport.is_closing():
            return False
        try:
            if self._piece_filter.passes_unread(payload):
                transport.write(chunk)
                return True
            passed = self._piece_filter.feed(payload)
            if passed is payload:
                transport.write(chunk)
            elif passed:
                transport.write(as_chunk(passed))
            if wait := self._piece_filter.pay(len(payload)):
                self._stop(wait)
        except Exception as error:  # noqa: BLE001 - raised where the answer is waited for
            self._error = error
            self._stop(0.0)
        return True

    def _stop(self, wait: float) -> None:
        self._detach()
        if self._stopped is not None:
            self._stopped.set_result(wait)

    def _has_ended(self) -> bool:
        """Whether all data has arrived. The connection may already serve another answer then, because the library
        releases it when the last data arrives, not when the agent has received it."""
        return self._content.is_eof() or self._content.exception() is not None

    def _detach(self) -> None:
        """Stops listening, unless the connection already serves another answer."""
        if isinstance(self._incoming, UpstreamConnection) and self._incoming.listener is self:
            self._incoming.listener = None

    def _pass_pieces(self) -> float | None:
        """Passes on all data that has arrived. Returns the seconds to wait, or None if the next piece may come.

        Reading again resumes a paused connection, so more data may be there after the first piece.
        """
        while True:
            transport = self._agent.transport
            if transport is None or transport.is_closing() or self._agent.writing_paused:
                return 0.0
            if self._has_ended():
                return 0.0
            piece = self._content.read_nowait()
            if not piece:
                return None
            if passed := self._piece_filter.feed(piece):
                transport.write(as_chunk(passed))
            if wait := self.pay(piece):
                return wait


def as_chunk(piece: bytes) -> bytes:
    """Returns the piece framed as one chunk."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)
