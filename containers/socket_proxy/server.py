"""Serves the proxy's own socket: reads one request of each connection, judges it, and carries it to the engine."""

import asyncio
import json
import logging
import time
from asyncio import IncompleteReadError, StreamReader, StreamWriter
from contextlib import suppress

from containers.socket_proxy import bodies
from containers.socket_proxy.engine import AnsweredError, Engine
from containers.socket_proxy.gate import Gate
from containers.socket_proxy.judging import as_bytes
from containers.socket_proxy.requests import PIECE, RefusedError, Request, pass_body, read_body, read_request
from containers.socket_proxy.routes import Rule

HEAD_WITHIN = 15.0
"""Seconds for the head of a request, and for a body that is read as a whole."""

_LARGEST_EXEC = 64 * 1024
_LINES_A_SECOND = 5.0
_REASONS = {
    400: "Bad Request", 403: "Forbidden", 404: "Not Found", 408: "Request Timeout", 413: "Content Too Large",
    415: "Unsupported Media Type", 431: "Request Header Fields Too Large", 502: "Bad Gateway",
    503: "Service Unavailable", 504: "Gateway Timeout",
}  # fmt: skip

logger = logging.getLogger(__name__)


class Server:
    """`most` is how many connections there may be at a time."""

    def __init__(self, engine: Engine, profile: str, *, most: int) -> None:
        self._engine = engine
        self._gate = Gate(engine, profile)
        self._most = most
        self._open = 0
        self._may_log_at = 0.0

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """One connection. Raises nothing."""
        self._open += 1
        try:
            if self._open > self._most:
                await _answer(writer, 503, _message("The proxy has too many connections."))
            else:
                await self._serve(reader, writer)
        except (OSError, IncompleteReadError, asyncio.LimitOverrunError):
            pass  # one of the two ends has gone
        except asyncio.CancelledError:
            pass  # the process ends
        except Exception:
            logger.exception("A request has failed.")
        finally:
            self._open -= 1
            writer.close()

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        what = "a request"
        try:
            async with asyncio.timeout(HEAD_WITHIN):
                request = await read_request(reader)
            if request is None:
                return
            what = f"{request.method} {request.path}"
            await self._carry(request, reader, writer)
        except RefusedError as error:
            self._log(what, error)
            await _answer(writer, error.status, _message(f"The socket proxy refuses this. {error}"))
            await _drain(reader)
        except AnsweredError as error:
            await _answer(writer, error.status, error.body)
        except TimeoutError:
            await _answer(writer, 504, _message("The engine does not answer the socket proxy in time."))

    async def _carry(self, request: Request, reader: StreamReader, writer: StreamWriter) -> None:
        route, name = self._gate.find(request)
        body: object = None
        if self._gate.reads_body(route):
            async with asyncio.timeout(HEAD_WITHIN):
                whole = await read_body(reader, request, most=bodies.LARGEST)
            try:
                body = bodies.read(whole)
            except ValueError:
                raise RefusedError("The body is no JSON that has one meaning.", status=400) from None
        await self._gate.admit(request, route, name, body)
        try:
            from_engine, to_engine = await self._engine.connect()
        except OSError:
            return await _answer(writer, 503, _message("The engine's socket does not answer the socket proxy."))
        try:
            content = as_bytes(body) if self._gate.reads_body(route) else None
            to_engine.write(request.head(length=request.length if content is None else len(content)) + (content or b""))
            if content is None and request.has_body:
                await pass_body(reader, to_engine, request)
            await to_engine.drain()
            await self._pass_answer(route.rule, (from_engine, to_engine), (reader, writer))
        finally:
            to_engine.close()

    async def _pass_answer(
        self,
        rule: Rule,
        engine: tuple[StreamReader, StreamWriter],
        client: tuple[StreamReader, StreamWriter],
    ) -> None:
        if rule is Rule.EXEC:
            answer = await _read_all(engine[0], most=_LARGEST_EXEC)
            self._gate.note_run(answer)
            client[1].write(answer)
            await client[1].drain()
        elif rule is Rule.RUN:  # the engine hands the streams over, whether it is asked for an upgrade or not
            await _first_of(_copy(engine[0], client[1]), _feed(client[0], engine[1]))
        else:
            await _first_of(_copy(engine[0], client[1]), _wait_for_end(client[0]))

    def _log(self, what: str, error: RefusedError) -> None:
        """A few lines a second, and no bodies, which hold what is nobody's business."""
        now = time.monotonic()
        if now >= self._may_log_at:
            self._may_log_at = now + 1 / _LINES_A_SECOND
            logger.warning("Refused %.200s: %.300s", what, error)


async def _first_of(answer: object, other: object) -> None:
    """Until the engine has said all; or the client is gone, where `other` ends first."""
    tasks = [asyncio.ensure_future(each) for each in (answer, other)]  # type: ignore[call-overload]  # coroutines
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _copy(source: StreamReader, target: StreamWriter) -> None:
    while piece := await source.read(PIECE):
        target.write(piece)
        await target.drain()


async def _feed(source: StreamReader, target: StreamWriter) -> None:
    """Then waits for the other direction, which has its own end: a program may answer what came last."""
    await _copy(source, target)
    with suppress(OSError, RuntimeError):
        target.write_eof()
    await asyncio.Event().wait()


async def _wait_for_end(source: StreamReader) -> None:
    """What follows the one request is passed on to nobody, and ends it."""
    await source.read(1)


async def _read_all(source: StreamReader, *, most: int) -> bytes:
    came = bytearray()
    async with asyncio.timeout(HEAD_WITHIN):
        while piece := await source.read(PIECE):
            came += piece
            if len(came) > most:
                raise RefusedError("The engine says more than anybody reads.", status=502)
    return bytes(came)


async def _answer(writer: StreamWriter, status: int, body: bytes) -> None:
    reason = _REASONS.get(status, "Error")
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
    with suppress(OSError, RuntimeError):
        await writer.drain()
        writer.write_eof()


async def _drain(reader: StreamReader) -> None:
    """Reads some of what still comes: a socket that is closed before loses the answer on its way."""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(1.0):
            for _ in range(16):
                if not await reader.read(PIECE):
                    return


def _message(text: str) -> bytes:
    return json.dumps({"message": text}).encode()
