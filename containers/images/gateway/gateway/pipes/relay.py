"""Passes pieces of an answer on the moment they arrive, as long as nothing prevents it."""

import asyncio

import aiohttp
from aiohttp import web

from gateway.pipes.incoming import Answer, Incoming, Spent
from gateway.pipes.passage import Passage


class Relay:
    """For a chunked answer whose head is on its way to the agent."""

    def __init__(
        self, request: web.BaseRequest, response: web.StreamResponse, answer: aiohttp.ClientResponse, passage: Passage
    ) -> None:
        connection = answer.connection
        self._incoming = connection.protocol if connection else None
        self._spent = answer.spent if isinstance(answer, Answer) else Spent()
        self._may_pass = response.chunked and "Content-Encoding" not in answer.headers  # otherwise it must be unpacked
        self._content = answer.content
        self._agent = request.protocol
        self._passage = passage
        self._is_passing = False
        self._error: BaseException | None = None
        self._stopped: asyncio.Future[float] | None = None

    def pay(self, piece: bytes) -> float:
        return self._passage.pay(len(piece), self._spent.take())

    async def go_on(self) -> float:
        """Returns when the answer ends, breaks off or arrives too fast, or when the agent does not accept it. The
        result is the seconds for which nothing more may be passed. Raises errors found in a piece.
        """
        if not self._may_pass or not isinstance(self._incoming, Incoming) or self._is_over():
            return 0.0
        self._stopped = asyncio.get_running_loop().create_future()
        self._incoming.listener = self
        try:
            self.take()
            wait = await self._stopped
        finally:
            self._let_go()
        if self._error is not None:
            raise self._error
        return wait

    def take(self) -> None:
        """Called inside the upstream connection, which must survive any error raised here."""
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

    def take_chunk(self, chunk: bytes, text: bytes) -> bool:
        """As it is it may be the agent's. All that came before it has been passed."""
        transport = self._agent.transport
        if transport is None or transport.is_closing() or self._agent.writing_paused:
            return False
        if self._is_passing or self._stopped is None or self._stopped.done():
            return False
        try:
            passed = self._passage.feed(text)
            if passed is text:
                transport.write(chunk)
            elif passed:
                transport.write(framed(passed))
            if wait := self._passage.pay(len(text)):
                self._stop(wait)
        except Exception as error:  # noqa: BLE001 - raised where the answer is waited for
            self._error = error
            self._stop(0.0)
        return True

    def _stop(self, wait: float) -> None:
        self._let_go()
        if self._stopped is not None:
            self._stopped.set_result(wait)

    def _is_over(self) -> bool:
        """Whether nothing more comes. Then the connection may be another answer's already: it is given back when the
        last has come, and not when the agent has it."""
        return self._content.is_eof() or self._content.exception() is not None

    def _let_go(self) -> None:
        """Where the answer has ended the connection may be another one's already."""
        if isinstance(self._incoming, Incoming) and self._incoming.listener is self:
            self._incoming.listener = None

    def _pass_pieces(self) -> float | None:
        """None where the next one may come. What came while reading was paused is there after what came before it."""
        while True:
            transport = self._agent.transport
            if transport is None or transport.is_closing() or self._agent.writing_paused:
                return 0.0
            if self._is_over():
                return 0.0
            piece = self._content.read_nowait()
            if not piece:
                return None
            if passed := self._passage.feed(piece):
                transport.write(framed(passed))
            if wait := self.pay(piece):
                return wait


def framed(piece: bytes) -> bytes:
    """Returns the piece framed as one chunk."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)
