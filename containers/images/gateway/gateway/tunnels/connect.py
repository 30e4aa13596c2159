"""Opens a tunnel's connection to its host: resolves the name, and checks the addresses before connecting to one."""

import asyncio
from collections.abc import Awaitable, Callable

from gateway.rules.refusals import RefusedError, Why
from gateway.tunnels.target import Target, is_public

WITHIN = 10.0
"""Seconds for resolving the name and trying all of its addresses."""
EACH_WITHIN = 4.0
"""Seconds for trying one address, if others are left."""

Resolve = Callable[[str, int], Awaitable[list[str]]]
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def open_far_end(target: Target, resolve: Resolve) -> Stream:
    """Connects to exactly the address that was checked. Raises RefusedError."""
    try:
        async with asyncio.timeout(WITHIN):
            return await _open_first(await find_public(target, resolve), target.port)
    except TimeoutError:
        raise RefusedError(Why.SILENT, "The host does not answer.") from None
    except (OSError, UnicodeError):
        raise RefusedError(Why.UPSTREAM, "The host cannot be reached.") from None


async def find_public(target: Target, resolve: Resolve) -> list[str]:
    """Returns the name's addresses in the public internet. Raises OSError, and RefusedError if there is none."""
    addresses = await resolve(target.host, target.port)
    public = [address for address in addresses if is_public(address)]
    if not public:
        raise RefusedError(Why.FORBIDDEN, "The host's name has no address in the public internet.")
    return public


async def _open_first(addresses: list[str], port: int) -> Stream:
    *others, last = addresses
    for address in others:
        try:
            async with asyncio.timeout(EACH_WITHIN):
                return await asyncio.open_connection(address, port)
        except (OSError, TimeoutError):
            continue
    return await asyncio.open_connection(last, port)
