"""Passes an answer on to the agent, piece by piece, as fast as the agent takes it."""

import asyncio
import time
from codecs import getincrementaldecoder
from collections.abc import Collection, Mapping
from contextlib import suppress
from types import MappingProxyType

import aiohttp
from aiohttp import web

from gateway.pipes.leak_detector import LeakDetector, forms_of
from gateway.pipes.piece_filter import BEGUN, BrokenError, ExceededError, LengthLimit, Meter, PayFor, PieceFilter
from gateway.pipes.redaction import redact
from gateway.pipes.relay import Relay
from gateway.pipes.upstream_connection import cpu_time_of
from gateway.rules.allowlist import answer_headers
from gateway.rules.refusals import RefusedError, Why

LARGEST_ERROR = 64 * 1024
READABLE = ("", "gzip", "deflate")
"""The compressions that an answer may have. An unreadable answer could contain the credential and cost any amount."""
UNPACKED = ("", "identity", "chunked")
"""The codings of a transfer that the library reads completely."""
FIRST_BYTES = 1024
"""The bytes by which an answer is recognised as text."""
LAST_WITHIN = 5.0
"""Seconds for the agent to accept the last piece of an answer that is cut off."""


async def pass_on(
    request: web.BaseRequest,
    answer: aiohttp.ClientResponse,
    *,
    secrets: Collection[str],
    meter: Meter,
    pay: PayFor,
    hide_usage: bool = False,
    length_limit: LengthLimit | None = None,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> web.StreamResponse:
    """Passes on an answer. Returns when the agent has received it completely.

    If the answer arrives faster than `pay` allows, the pieces become larger. `headers` are added to the provider's. In
    the end, the meter has read all pieces that were passed on. Raises RefusedError before anything was sent, and
    BrokenError after that.
    """
    response = _begin(request, answer, secrets, hide_usage=hide_usage)
    response.headers.update(headers)
    piece_filter = PieceFilter(LeakDetector(*secrets), meter, pay, length_limit)
    request[BEGUN] = True
    try:
        await response.prepare(request)
        await _pass_pieces(answer, response, piece_filter, Relay(request, response, answer, piece_filter))
        if rest := piece_filter.finish():
            await response.write(rest)
        await response.write_eof()
    except ExceededError as error:
        await _send_last(response, error.last)
        raise
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise BrokenError from error
    finally:
        piece_filter.close()
    return response


async def _pass_pieces(
    answer: aiohttp.ClientResponse, response: web.StreamResponse, piece_filter: PieceFilter, relay: Relay
) -> None:
    """Sends the answer's head with the first piece, so a relay never passes that piece."""
    is_checked = is_begun = False
    async for piece in answer.content.iter_any():
        if not is_checked:
            _check_text(answer, piece)
            is_checked = True
        if passed := piece_filter.feed(piece):
            await response.write(passed)
            is_begun = True
        wait = relay.pay(piece) or (await relay.run() if is_begun else 0.0)
        await asyncio.sleep(0)  # otherwise nothing suspends while there is data to decompress
        while wait:
            await asyncio.sleep(wait)
            wait = await relay.run() if is_begun else 0.0


async def _send_last(response: web.StreamResponse, last: bytes) -> None:
    """Sends the last data. Ignores errors, because the agent may not accept it."""
    with suppress(aiohttp.ClientError, OSError, TimeoutError):
        async with asyncio.timeout(LAST_WITHIN):
            await response.write(last)


def _begin(
    request: web.BaseRequest, answer: aiohttp.ClientResponse, secrets: Collection[str], *, hide_usage: bool
) -> web.StreamResponse:
    began = time.thread_time()
    _refuse_unusable(answer)
    coding = coding_of(answer)
    if not is_readable(answer):
        raise RefusedError(Why.UPSTREAM, "The answer is compressed in a way that was not requested.")
    response = web.StreamResponse(status=answer.status)
    began = time.thread_time()
    response.headers.extend(answer_headers(answer.headers.items(), forms_of(secrets)))
    cpu_time_of(answer).add(time.thread_time() - began)
    length = None if coding else answer.content_length
    if length is not None and not hide_usage:
        response.content_length = length
    elif request.version >= aiohttp.HttpVersion11:
        response.enable_chunked_encoding()
    else:
        response.force_close()  # the answer ends with the connection
    cpu_time_of(answer).add(time.thread_time() - began)
    return response


async def pass_redacted(
    answer: aiohttp.ClientResponse, *, secrets: Collection[str], headers: Mapping[str, str] = MappingProxyType({})
) -> tuple[bytes, web.Response]:
    """Passes on an answer that may quote all or part of the credential: an error, or facts about a key.

    Also returns the text. `headers` are added to the provider's. Raises RefusedError.
    """
    _refuse_unusable(answer)
    body = b""
    with suppress(aiohttp.ClientError, TimeoutError, OSError):
        body = await _read_error(answer) if is_readable(answer) else b""
    began = time.thread_time()
    text = redact(body, secrets).encode()
    response = web.Response(status=answer.status, body=text)
    response.headers.extend(answer_headers(answer.headers.items(), forms_of(secrets)))
    response.headers.update(headers)
    cpu_time_of(answer).add(time.thread_time() - began)
    return text, response


async def _read_error(answer: aiohttp.ClientResponse) -> bytes:
    """Returns the body, or b"" if it is too long to be checked for quotes."""
    body = bytearray()
    async for piece in answer.content.iter_any():
        body += piece
        if len(body) > LARGEST_ERROR:
            return b""
    return bytes(body)


def coding_of(answer: aiohttp.ClientResponse) -> str:
    """Returns how the answer is compressed; empty if it is not."""
    coding = ",".join(answer.headers.getall("Content-Encoding", ())).strip().lower()
    return "" if coding == "identity" else coding


def is_readable(answer: aiohttp.ClientResponse) -> bool:
    """Whether the gateway reads the same answer as an agent that unpacks it."""
    transfer = ",".join(answer.headers.getall("Transfer-Encoding", ())).strip().lower()
    return coding_of(answer) in READABLE and transfer in UNPACKED


def _check_text(answer: aiohttp.ClientResponse, first: bytes) -> None:
    """Raises BrokenError if a JSON document or a stream of events does not begin with UTF-8, as both must.

    Such an answer is compressed or in another encoding, although its head does not say so.
    """
    if not answer.content_type.endswith(("json", "event-stream")):
        return
    begin = first[:FIRST_BYTES]
    try:
        getincrementaldecoder("utf-8")().decode(begin)
    except UnicodeDecodeError:
        raise BrokenError from None
    if b"\0" in begin:
        raise BrokenError


def _refuse_unusable(answer: aiohttp.ClientResponse) -> None:
    """Raises RefusedError for answers that are never passed on.

    An agent must not learn the target of a redirect, which the gateway does not follow. The gateway does not switch
    protocols. Invalid status codes would break the agent's client.
    """
    if not (200 <= answer.status < 300 or 400 <= answer.status < 600):
        raise RefusedError(Why.UPSTREAM, "Bad Gateway")
