"""Requests that may be cancelled at any moment, as a preview is once its answer is there.

A connection whose request is cancelled between the pool's handing it out and its first byte stays in httpcore's pool
for ever, as nobody's (https://github.com/encode/httpcore/issues/1093). When all places are taken so, nothing can be
sent any more, though messages still come in.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from telegram.request import HTTPXRequest


class TelegramRequest(HTTPXRequest):
    async def do_request(self, *args: Any, **options: Any) -> tuple[int, bytes]:
        async with reclaiming(self._client):
            return await super().do_request(*args, **options)


@asynccontextmanager
async def reclaiming(client: httpx.AsyncClient) -> AsyncIterator[None]:
    """A request of this client is made inside. Where it is cancelled it leaves no place of the pool taken."""
    try:
        yield
    except asyncio.CancelledError:
        for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001 - the library's fault, see above
            if isinstance(transport, httpx.AsyncHTTPTransport):
                await _reclaim(transport._pool)  # noqa: SLF001 - as above
        raise


async def _reclaim(pool: Any) -> None:
    """Closes what no request of the pool holds and what is not idle either."""
    held = {id(request.connection) for request in pool._requests}  # noqa: SLF001 - as above
    lost = [each for each in pool.connections if id(each) not in held and not (each.is_idle() or each.is_closed())]
    pool._connections[:] = [each for each in pool.connections if each not in lost]  # noqa: SLF001 - as above
    await pool._close_connections(lost)  # noqa: SLF001 - as above
