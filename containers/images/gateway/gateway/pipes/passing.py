"""Passes an answer on to the agent, piece by piece, as fast as the agent takes it."""

import asyncio
import json
from collections.abc import Callable, Collection
from contextlib import suppress
from enum import Enum, auto
from typing import NoReturn, Protocol
from urllib.parse import quote

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
LAST_WITHIN = 5.0
"""Seconds for the agent to take the last that it is told of an answer that ends before its time."""
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
    unfinished: int

    def see(self, piece: bytes) -> bytes: ...
    def finish(self) -> bytes: ...


Pay = Callable[[int], float]
"""Is told the size of each piece, and says for how many seconds the next one has to wait."""


class BrokenError(Exception):
    """The answer has begun and cannot be brought to its end. The connection to the agent is cut."""


class ExceededError(BrokenError):
    """The answer is longer than was asked for, and than the budget allows. The agent has been told."""


class Echo:
    """Looks for the real credential in an answer, wherever its pieces begin and end."""

    def __init__(self, *secrets: str) -> None:
        self._first, *self._others = (form.encode() for secret in secrets for form in forms_of(secret))
        self._kept = max(map(len, (self._first, *self._others))) - 1
        self._end = b""

    def is_in(self, piece: bytes) -> bool:
        joined = self._end + piece
        self._end = joined[-self._kept :] if self._kept else b""
        return self._first in joined or any(other in joined for other in self._others)


def forms_of(secret: str) -> list[str]:
    """How a credential may be written: as it is, in JSON, and in an address. Of most of them all are the same."""
    in_json = json.dumps(secret)[1:-1]
    return list(dict.fromkeys((secret, in_json, in_json.replace("/", "\\/"), quote(secret, safe=""))))


async def pass_on(
    request: web.BaseRequest,
    answer: aiohttp.ClientResponse,
    *,
    secrets: Collection[str],
    meter: Meter,
    pay: Pay,
    hides: bool = False,
    end: Callable[[], bytes] = lambda: b"",
) -> web.StreamResponse:
    """Returns when the agent has it all. What comes faster than is paid for comes in larger pieces. `end` says for each
    piece what is to be the last behind it; nothing while the answer may go on.

    Raises RefusedError before anything is passed, and BrokenError after.
    """
    response, echo = _begin(request, answer, secrets, hides=hides), Echo(*secrets)
    try:
        await response.prepare(request)
        async for piece in answer.content.iter_any():
            # The piece that completes the credential is not sent, so that the agent never has the whole of it.
            if echo.is_in(piece):
                raise BrokenError
            passed = meter.see(piece)
            if last := end():
                await _end_with(response, passed[: max(0, len(passed) - meter.unfinished)] + last)
            if passed:
                await response.write(passed)
            if wait := pay(len(piece)):
                await asyncio.sleep(wait)
        if rest := meter.finish():
            await response.write(rest)
        await response.write_eof()
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise BrokenError from error
    return response


async def _end_with(response: web.StreamResponse, last: bytes) -> NoReturn:
    """Raises ExceededError, also where the agent does not take what is the last."""
    with suppress(aiohttp.ClientError, OSError, TimeoutError):
        async with asyncio.timeout(LAST_WITHIN):
            await response.write(last)
    raise ExceededError


def _begin(
    request: web.BaseRequest, answer: aiohttp.ClientResponse, secrets: Collection[str], *, hides: bool
) -> web.StreamResponse:
    _refuse_no_answer(answer)
    response = web.StreamResponse(status=answer.status)
    response.headers.extend(answer_headers(answer.headers.items(), secrets))
    length = answer.content_length
    if length is not None and not hides:
        response.content_length = length
    elif request.version >= aiohttp.HttpVersion11:
        response.enable_chunked_encoding()
    else:
        response.force_close()  # the end of the connection is the only one that such an answer has
    return response


async def see_rest(answer: aiohttp.ClientResponse, meter: Meter) -> Rest:
    """Counts what the upstream had sent already when the agent hung up: it is paid for, and can be much where the agent
    has read nothing. That the agent's connection is lost meanwhile, which cancels its call, ends nothing."""
    seeing = asyncio.ensure_future(_see_rest(answer, meter))
    while not seeing.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([seeing])
    return seeing.result()


async def _see_rest(answer: aiohttp.ClientResponse, meter: Meter) -> Rest:
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


async def pass_redacted(answer: aiohttp.ClientResponse, *, secrets: Collection[str]) -> tuple[bytes, web.Response]:
    """An answer that may quote the credential, or a part of it: an error, or facts about a key.

    Returns the text too. Raises RefusedError.
    """
    _refuse_no_answer(answer)
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
    quoted = body.decode(errors="replace")
    for form in sorted((form for secret in secrets for form in forms_of(secret)), key=len, reverse=True):
        quoted = quoted.replace(form, "[redacted]")
    text = redact_credentials(quoted).encode()
    response = web.Response(status=answer.status, body=text)
    response.headers.extend(answer_headers(answer.headers.items(), secrets))
    response.headers.popall("Content-Encoding", None)
    return text, response


def _refuse_no_answer(answer: aiohttp.ClientResponse) -> None:
    """Where a redirect leads to is not the agent's to know, and nobody follows it. Another protocol is not switched to,
    and a status that HTTP does not have would break the agent's client."""
    if not (200 <= answer.status < 300 or 400 <= answer.status < 600):
        raise RefusedError(Why.UPSTREAM, "Bad Gateway")
