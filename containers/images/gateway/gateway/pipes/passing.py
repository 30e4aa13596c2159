"""Passes an answer on to the agent, piece by piece, as fast as the agent takes it."""

import asyncio
from contextlib import suppress
from enum import Enum, auto
from typing import Protocol

import aiohttp
from aiohttp import web

from agent_contract import redact_credentials
from gateway.rules.refusals import RefusedError, Why
from gateway.rules.swap import answer_headers

LARGEST_ERROR = 64 * 1024
REST_SILENCE = 0.2
"""Seconds for the next piece of an answer whose reader has gone."""
REST_WITHIN = 1.0
"""Seconds after which only what is there already is read: the upstream has not noticed, and goes on writing."""
AT_ONCE = 0.01
REST_LONGEST = 10.0


class Rest(Enum):
    """What is known of an answer after its reader has gone."""

    WHOLE = auto()
    SEEN = auto()
    """All that has come."""
    ENDLESS = auto()
    """It comes faster than it can be read."""


class Meter(Protocol):
    def see(self, piece: bytes) -> bytes: ...
    def finish(self) -> bytes: ...


class BrokenError(Exception):
    """The answer has begun and cannot be brought to its end. The connection to the agent is cut."""


class Echo:
    """Looks for the real credential in an answer, wherever its pieces begin and end."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self._end = b""

    def is_in(self, piece: bytes) -> bool:
        joined = self._end + piece
        self._end = joined[-len(self._secret) + 1 :]
        return self._secret in joined


async def pass_on(
    request: web.BaseRequest, answer: aiohttp.ClientResponse, *, secret: str, meter: Meter, hides: bool = False
) -> web.StreamResponse:
    """Returns when the agent has it all.

    Raises RefusedError before anything is passed, and BrokenError after.
    """
    _refuse_redirect(answer)
    response = web.StreamResponse(status=answer.status)
    response.headers.extend(answer_headers(answer.headers.items(), secret))
    length = answer.content_length
    if length is not None and not hides:
        response.content_length = length
    elif request.version >= aiohttp.HttpVersion11:
        response.enable_chunked_encoding()
    echo = Echo(secret)
    try:
        await response.prepare(request)
        async for piece in answer.content.iter_any():
            # The piece that completes the credential is not sent, so that the agent never has the whole of it.
            if echo.is_in(piece):
                raise BrokenError
            if passed := meter.see(piece):
                await response.write(passed)
        if rest := meter.finish():
            await response.write(rest)
        await response.write_eof()
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise BrokenError from error
    return response


async def see_rest(answer: aiohttp.ClientResponse, meter: Meter) -> Rest:
    """Counts what the upstream had sent already when the agent hung up: it is paid for, and can be much where the agent
    has read nothing."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    with suppress(aiohttp.ClientError, OSError):
        while loop.time() < began + REST_LONGEST:
            silence = REST_SILENCE if loop.time() < began + REST_WITHIN else AT_ONCE
            async with asyncio.timeout(silence):
                piece = await answer.content.readany()
            if not piece:
                meter.finish()
                return Rest.WHOLE
            meter.see(piece)
        return Rest.ENDLESS
    return Rest.SEEN


async def pass_redacted(answer: aiohttp.ClientResponse, *, secret: str) -> tuple[bytes, web.Response]:
    """An answer that may quote the credential, or a part of it: an error, or facts about a key.

    Returns the text too. Raises RefusedError.
    """
    _refuse_redirect(answer)
    encoding = answer.headers.get("Content-Encoding", "identity").strip().lower()
    body = bytearray()
    try:
        async for piece in answer.content.iter_any():
            body += piece
            if len(body) > LARGEST_ERROR:
                break
    except (aiohttp.ClientError, TimeoutError, OSError):
        body.clear()
    if encoding != "identity" or len(body) > LARGEST_ERROR:
        body.clear()  # nobody can tell what it quotes
    text = redact_credentials(body.decode(errors="replace").replace(secret, "[redacted]")).encode()
    response = web.Response(status=answer.status, body=text)
    response.headers.extend(answer_headers(answer.headers.items(), secret))
    response.headers.popall("Content-Encoding", None)
    return text, response


def _refuse_redirect(answer: aiohttp.ClientResponse) -> None:
    """Where a redirect leads to is not the agent's to know, and nobody follows it."""
    if 300 <= answer.status < 400:
        raise RefusedError(Why.UPSTREAM, "Bad Gateway")
