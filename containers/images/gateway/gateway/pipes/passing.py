"""Passes an answer on to the agent, piece by piece, as fast as the agent takes it."""

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress

import aiohttp
from aiohttp import web

from agent_contract import redact_credentials
from gateway.pipes.echo import Echo, forms_of
from gateway.pipes.passage import BEGUN, BrokenError, ExceededError, Meter, Passage, PayFor
from gateway.pipes.relay import Relay
from gateway.rules.refusals import RefusedError, Why
from gateway.rules.swap import answer_headers

LARGEST_ERROR = 64 * 1024
READABLE = ("", "gzip", "deflate")
"""The compressions that an answer may have. An unreadable answer could contain the credential and cost any amount."""
LAST_WITHIN = 5.0
"""Seconds for the agent to accept the last piece of an answer that is cut off."""


async def pass_on(
    request: web.BaseRequest,
    answer: aiohttp.ClientResponse,
    *,
    secrets: Collection[str],
    meter: Meter,
    pay: PayFor,
    hides: bool = False,
    end: Callable[[], bytes] = lambda: b"",
) -> web.StreamResponse:
    """Returns when the agent has it all. What comes faster than is paid for comes in larger pieces. `end` says for each
    piece what is to be the last behind it; nothing while the answer may go on.

    Raises RefusedError before anything is passed, and BrokenError after.
    """
    response = _begin(request, answer, secrets, hides=hides)
    passage = Passage(Echo(*secrets), meter, pay, end)
    request[BEGUN] = True
    try:
        await response.prepare(request)
        await _pass_pieces(answer, response, passage, Relay(request, response, answer, passage))
        if rest := meter.finish():
            await response.write(rest)
        await response.write_eof()
    except ExceededError as error:
        await _tell_last(response, error.last)
        raise
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise BrokenError from error
    return response


async def _pass_pieces(
    answer: aiohttp.ClientResponse, response: web.StreamResponse, passage: Passage, relay: Relay
) -> None:
    """Sends the answer's head with the first piece, so a relay never passes that piece."""
    is_begun = False
    async for piece in answer.content.iter_any():
        if passed := passage.feed(piece):
            await response.write(passed)
            is_begun = True
        wait = relay.pay(piece) or (await relay.go_on() if is_begun else 0.0)
        await asyncio.sleep(0)  # else nothing suspends, as long as there is something to unpack
        while wait:
            await asyncio.sleep(wait)
            wait = await relay.go_on() if is_begun else 0.0


async def _tell_last(response: web.StreamResponse, last: bytes) -> None:
    """Ignores an agent that does not accept it."""
    with suppress(aiohttp.ClientError, OSError, TimeoutError):
        async with asyncio.timeout(LAST_WITHIN):
            await response.write(last)


def _begin(
    request: web.BaseRequest, answer: aiohttp.ClientResponse, secrets: Collection[str], *, hides: bool
) -> web.StreamResponse:
    _refuse_no_answer(answer)
    coding = coding_of(answer)
    if coding not in READABLE:
        raise RefusedError(Why.UPSTREAM, "The answer is compressed in a way that nobody has asked for.")
    response = web.StreamResponse(status=answer.status)
    response.headers.extend(answer_headers(answer.headers.items(), secrets))
    length = None if coding else answer.content_length
    if length is not None and not hides:
        response.content_length = length
    elif request.version >= aiohttp.HttpVersion11:
        response.enable_chunked_encoding()
    else:
        response.force_close()  # only the end of the connection ends such an answer
    return response


async def pass_redacted(answer: aiohttp.ClientResponse, *, secrets: Collection[str]) -> tuple[bytes, web.Response]:
    """Passes on an answer that may quote all or part of the credential: an error, or facts about a key.

    Also returns the text. Raises RefusedError.
    """
    _refuse_no_answer(answer)
    body = bytearray()
    try:
        async for piece in answer.content.iter_any():
            body += piece
            if len(body) > LARGEST_ERROR:
                break
    except (aiohttp.ClientError, TimeoutError, OSError):
        body.clear()
    if coding_of(answer) not in READABLE or len(body) > LARGEST_ERROR:
        body.clear()  # it cannot be checked for quotes
    quoted = body.decode(errors="replace")
    for form in sorted((form for secret in secrets for form in forms_of(secret)), key=len, reverse=True):
        quoted = quoted.replace(form, "[redacted]")
    text = redact_credentials(quoted).encode()
    response = web.Response(status=answer.status, body=text)
    response.headers.extend(answer_headers(answer.headers.items(), secrets))
    return text, response


def coding_of(answer: aiohttp.ClientResponse) -> str:
    """Returns how the answer is compressed; empty if it is not."""
    coding = ",".join(answer.headers.getall("Content-Encoding", ())).strip().lower()
    return "" if coding == "identity" else coding


def _refuse_no_answer(answer: aiohttp.ClientResponse) -> None:
    """Where a redirect leads to is not the agent's to know, and nobody follows it. Another protocol is not switched to,
    and a status that HTTP does not have would break the agent's client."""
    if not (200 <= answer.status < 300 or 400 <= answer.status < 600):
        raise RefusedError(Why.UPSTREAM, "Bad Gateway")
