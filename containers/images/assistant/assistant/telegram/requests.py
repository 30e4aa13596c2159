"""Requests that may be cancelled at any moment, like a preview whose answer is complete.

If a request is cancelled at the wrong moment, its connection stays in httpcore's pool forever and counts as busy
(https://github.com/encode/httpcore/issues/1093). Once all connections are lost like this, nothing can be sent, although
messages still come in. httpcore handles the cancellation of anyio, except in one moment, but not that of asyncio.
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
        return await cancel_cleanly(self._client, lambda: ask(*args, **options))


async def cancel_cleanly(client: httpx.AsyncClient, ask: Callable[[], Awaitable[T]]) -> T:
    """Returns the result of `ask`, which uses this client. If cancelled, it leaves no lost connection in the pool."""
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
            asking.exception()  # marks it as retrieved, so that asyncio does not log it


async def _reclaim(client: httpx.AsyncClient) -> None:
    """Closes connections that are not idle although no request uses them."""
    for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001 - the library's fault, see above
        pool: Any = getattr(transport, "_pool", None)
        if pool is None:
            continue
        held = {id(request.connection) for request in pool._requests}  # noqa: SLF001 - as above
        lost = [each for each in pool.connections if id(each) not in held and not (each.is_idle() or each.is_closed())]
        pool._connections[:] = [each for each in pool.connections if each not in lost]  # noqa: SLF001 - as above
        await pool._close_connections(lost)  # noqa: SLF001 - as above
