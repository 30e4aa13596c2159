"""Requests that may be cancelled at any moment, as a preview is once its answer is there.

A connection whose request is cancelled at a wrong moment stays in httpcore's pool for ever, as one that is at work
(https://github.com/encode/httpcore/issues/1093). When all places are taken so, nothing can be sent any more, though
messages still come in. It knows no cancellation of asyncio, but that of anyio, and misses one moment even of that.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import httpx
from telegram.request import HTTPXRequest

T = TypeVar("T")


class TelegramRequest(HTTPXRequest):
    async def do_request(self, *args: Any, **options: Any) -> tuple[int, bytes]:
        ask = super().do_request
        return await keep_whole(self._client, lambda: ask(*args, **options))


async def keep_whole(client: httpx.AsyncClient, ask: Callable[[], Awaitable[T]]) -> T:
    """What is asked with this client. Where that is cancelled it leaves no place of the client's pool taken."""
    scope = anyio.CancelScope()

    async def ask_in_scope() -> T:
        with scope:
            return await ask()
        raise asyncio.CancelledError

    asking = asyncio.create_task(ask_in_scope())
    try:
        return await asyncio.shield(asking)
    except asyncio.CancelledError:
        scope.cancel()
        await asyncio.wait({asking})
        await _reclaim(client)
        raise
    finally:
        if asking.done() and not asking.cancelled():
            asking.exception()  # nobody else asks for it


async def _reclaim(client: httpx.AsyncClient) -> None:
    """Closes connections that no request holds and that are not idle either."""
    for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001 - the library's fault, see above
        pool: Any = getattr(transport, "_pool", None)
        if pool is None:
            continue
        held = {id(request.connection) for request in pool._requests}  # noqa: SLF001 - as above
        lost = [each for each in pool.connections if id(each) not in held and not (each.is_idle() or each.is_closed())]
        pool._connections[:] = [each for each in pool.connections if each not in lost]  # noqa: SLF001 - as above
        await pool._close_connections(lost)  # noqa: SLF001 - as above
