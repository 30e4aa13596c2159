"""The HTTP client for Telegram, providers and servers. It verifies TLS, and does not follow redirects, keep cookies or
send a request twice."""

import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from gateway.pipes.decompression import StrictZlib
from gateway.pipes.upstream_connection import Answer, Connector, cpu_time_of
from gateway.rules.refusals import RefusedError, Why

CONNECT_WITHIN = 10.0
SILENT_FOR = 600.0
"""Seconds that a provider may take before the next piece of its answer."""
IDLE_FOR = 15.0
"""Seconds for which an unused connection is kept. Upstreams keep it longer, so no request meets a closed connection."""


def open_client(resolver: AbstractResolver | None = None) -> aiohttp.ClientSession:
    """Returns a client session.

    A client with its own `resolver` connects only to the addresses that the resolver returns, by IPv4. It does not
    cache names, because a shared lookup would let one owner's unanswered names delay others.

    Compressed answers are unpacked piece by piece, even though the gateway never requests them, so that they can be
    read.
    """
    aiohttp.set_zlib_backend(cast("Any", StrictZlib()))
    connector = Connector(
        limit=0,
        keepalive_timeout=IDLE_FOR,
        ttl_dns_cache=30,
        use_dns_cache=resolver is None,
        resolver=resolver,
        family=socket.AF_INET if resolver else socket.AF_UNSPEC,
    )
    return aiohttp.ClientSession(
        connector=connector,
        middlewares=(_send_once,),
        response_class=Answer,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
    )


async def _send_once(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Replaces the errors after which the library repeats a `GET` or `DELETE`, because the upstream may have read it.

    A `GET` sends a message too: the Bot API takes every method either way.
    """
    try:
        return await send(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
        raise aiohttp.ClientConnectionError from None


@asynccontextmanager
async def ask(
    client: aiohttp.ClientSession,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes | AsyncIterator[bytes] | None = None,
    silent_for: float = SILENT_FOR,
    charge: Callable[[float], None] = lambda _seconds: None,
) -> AsyncIterator[aiohttp.ClientResponse]:
    """Sends a request. Yields the answer once its head has arrived. In the end, `charge` gets the seconds of processor
    time that the answer took and that nobody has paid for.

    Raises NotConnectedError if the upstream cannot have read the request, and RefusedError for any other failure.
    Neither quotes the library's error, which could contain the URL and so the credential.
    """
    timeout = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=CONNECT_WITHIN, sock_read=silent_for)
    try:
        answer = await client.request(
            method, URL(url, encoded=True), headers=headers, data=body, timeout=timeout, allow_redirects=False
        )
    except RefusedError:
        raise
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL):
        raise NotConnectedError(Why.UPSTREAM, "Bad Gateway") from None
    except TimeoutError:
        raise RefusedError(Why.SILENT, "Gateway Timeout") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        if isinstance(error.__cause__, RefusedError):  # the body could not be read from the agent
            raise error.__cause__ from None
        raise RefusedError(Why.UPSTREAM, "Bad Gateway") from None
    try:
        yield answer
    finally:
        answer.close() if not answer.content.at_eof() else answer.release()
        charge(cpu_time_of(answer).take())


class NotConnectedError(RefusedError):
    """No connection to the upstream was established."""
