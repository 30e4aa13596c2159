"""The client towards Telegram and the providers: pooled, verified, no cookies, no redirects, nothing sent twice."""

import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from gateway.pipes.incoming import Answer, Connector
from gateway.pipes.unpacking import Unpacking
from gateway.rules.refusals import RefusedError, Why

CONNECT_WITHIN = 10.0
SILENT_FOR = 600.0
"""Seconds that a provider may take before the next piece of its answer."""
IDLE_FOR = 15.0
"""Seconds that an unused connection is kept: less than upstreams keep it, so that no request meets a closed one."""


def open_client(resolver: AbstractResolver | None = None) -> aiohttp.ClientSession:
    """With a `resolver` of one's own it asks nobody but whom that finds, and that is asked each time: who waits for a
    name would wait with all others for the first of them, whose owner may have many that nobody answers.

    What comes compressed, though nobody has asked for that, is unpacked, so that it can be read: piece by piece, and
    none before the one before it has gone on.
    """
    aiohttp.set_zlib_backend(cast("Any", Unpacking()))
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
        response_class=Answer,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
    )


@asynccontextmanager
async def ask(
    client: aiohttp.ClientSession,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes | AsyncIterator[bytes] | None = None,
    silent_for: float = SILENT_FOR,
) -> AsyncIterator[aiohttp.ClientResponse]:
    """The head of the upstream's answer.

    Raises NotAskedError where the upstream cannot have read the request, RefusedError for any other failure. Neither
    quotes the error of the library, which could hold the address and so the credential.
    """
    timeout = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=CONNECT_WITHIN, sock_read=silent_for)
    try:
        answer = await client.request(
            method, URL(url, encoded=True), headers=headers, data=body, timeout=timeout, allow_redirects=False
        )
    except RefusedError:
        raise
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL):
        raise NotAskedError(Why.UPSTREAM, "Bad Gateway") from None
    except TimeoutError:
        raise RefusedError(Why.SILENT, "Gateway Timeout") from None
    except (aiohttp.ClientError, OSError, ValueError):
        raise RefusedError(Why.UPSTREAM, "Bad Gateway") from None
    try:
        yield answer
    finally:
        answer.close() if not answer.content.at_eof() else answer.release()


class NotAskedError(RefusedError):
    """No connection to the upstream was established."""
