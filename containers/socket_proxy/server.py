"""Serves the proxy's own socket: reads one request per connection, checks it, and passes it on to the engine."""

import asyncio
import json
import logging
import time
from asyncio import IncompleteReadError, StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from containers.socket_proxy import bodies
from containers.socket_proxy.checks import as_bytes
from containers.socket_proxy.engine import SPOKEN, AnsweredError, Engine, EngineAwayError
from containers.socket_proxy.gate import Gate
from containers.socket_proxy.past_events import is_of_all, pass_past_events
from containers.socket_proxy.requests import PIECE, RefusedError, Request, pass_body, read_body, read_request
from containers.socket_proxy.routes import Rule, version_of
from containers.socket_proxy.streams import LARGEST_EXEC, Pair, pass_answer, pass_streams, read_all

HEAD_WITHIN = 15.0
"""Seconds for the head of a request, and for a body that is read at once."""

_LINES_A_SECOND = 5.0
_REASONS = {
    400: "Bad Request", 403: "Forbidden", 404: "Not Found", 408: "Request Timeout", 413: "Content Too Large",
    415: "Unsupported Media Type", 431: "Request Header Fields Too Large", 502: "Bad Gateway",
    503: "Service Unavailable",
}  # fmt: skip

logger = logging.getLogger(__name__)


class Server:
    """The server. `most` is the most connections that it accepts at a time."""

    def __init__(self, engine: Engine, profile: str, *, most: int) -> None:
        self._engine = engine
        self._gate = Gate(engine, profile)
        self._most = most
        # The event loop keeps only weak references to tasks, and after the end of a client's data nobody else has one.
        self._open: set[asyncio.Task[Any] | None] = set()
        self._may_log_at = 0.0

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Serves one connection. Raises nothing."""
        task = asyncio.current_task()
        self._open.add(task)
        try:
            if len(self._open) > self._most:
                await _answer(writer, 503, _message("The proxy has too many connections."))
            else:
                await self._serve(reader, writer)
        except (OSError, IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client or the engine has disconnected
        except asyncio.CancelledError:
            pass  # the process ends
        except Exception:
            logger.exception("A request has failed.")
        finally:
            self._open.discard(task)
            writer.close()

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        what = "a request"
        try:
            async with _in_time("head"):
                request = await read_request(reader)
            if request is None:
                return
            what = f"{request.method} {request.path}"
            await self._carry(request, reader, writer)
        except RefusedError as error:
            self._log(f"Refused {what[:200]}: {error}")
            await _answer(writer, error.status, _message(f"The socket proxy refuses this. {error}"))
            await _drain(reader)
        except AnsweredError as error:
            await _answer(writer, error.status, error.body)
        except EngineAwayError:
            self._log(f"The engine does not answer: {what[:200]}")

    async def _carry(self, request: Request, reader: StreamReader, writer: StreamWriter) -> None:
        route, name = self._gate.find(request)
        SPOKEN.set(version_of(request.path))
        body: object = None
        if self._gate.reads_body(route):
            async with _in_time("body"):
                whole = await read_body(reader, request, most=bodies.LARGEST)
            try:
                body = bodies.read(whole)
            except ValueError:
                raise RefusedError("The body is no JSON that has one meaning.", status=400) from None
        await self._gate.admit(request, route, name, body)
        from_engine, to_engine = await self._engine.connect()
        try:
            content = as_bytes(body) if self._gate.reads_body(route) else None
            to_engine.write(request.head(length=request.length if content is None else len(content)) + (content or b""))
            if content is None and request.has_body:
                await pass_body(reader, to_engine, request)
            await to_engine.drain()
            await self._pass_answer(request, route.rule, (from_engine, to_engine), (reader, writer))
        finally:
            to_engine.close()

    async def _pass_answer(self, request: Request, rule: Rule, engine: Pair, client: Pair) -> None:
        if rule is Rule.EXEC:
            answer = await read_all(engine[0], most=LARGEST_EXEC)
            self._gate.note_run(answer)
            client[1].write(answer)
            await client[1].drain()
        elif rule is Rule.RUN:  # an engine may hand the streams over without being asked for an upgrade
            await pass_streams(engine, client, upgrades=request.upgrades)
        elif rule is Rule.EVENTS and is_of_all(request):
            await pass_past_events(engine, client, self._engine.scope)
        else:
            await pass_answer(engine, client)

    def _log(self, line: str) -> None:
        """Logs a few lines a second, and no bodies, which may be confidential."""
        now = time.monotonic()
        if now >= self._may_log_at:
            self._may_log_at = now + 1 / _LINES_A_SECOND
            logger.warning("%.600s", line)


@asynccontextmanager
async def _in_time(what: str) -> AsyncIterator[None]:
    """Raises `RefusedError` if the client is late with this part of its request."""
    try:
        async with asyncio.timeout(HEAD_WITHIN):
            yield
    except TimeoutError:
        raise RefusedError(f"The {what} of the request did not come in time.", status=408) from None


async def _answer(writer: StreamWriter, status: int, body: bytes) -> None:
    reason = _REASONS.get(status, "Error")
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
    with suppress(OSError, RuntimeError):
        await writer.drain()
        writer.write_eof()


async def _drain(reader: StreamReader) -> None:
    """Reads some of the remaining input, because a socket that is closed with unread input may lose the answer."""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(1.0):
            for _ in range(16):
                if not await reader.read(PIECE):
                    return


def _message(text: str) -> bytes:
    return json.dumps({"message": text}).encode()
