"""Opens a tunnel's connection to its host: resolves the name, and checks the addresses before connecting to one."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

from gateway.rules.refusals import RefusedError, Why
from gateway.tunnels.target import Target, is_public

WITHIN = 10.0
"""Seconds for resolving the name and trying all of its addresses."""
EACH_WITHIN = 4.0
"""Seconds for trying one address, if others are left."""

_NAMES = ThreadPoolExecutor(8, thread_name_prefix="names")

Resolve = Callable[[str, int], Awaitable[list[str]]]
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def resolve(host: str, port: int) -> list[str]:
    """Returns the name's addresses. Raises OSError. Slow lookups delay other tunnels, but no calls to upstreams."""
    return await look_up(host, port, pool=_NAMES)


def look_up(host: str, port: int, *, pool: ThreadPoolExecutor) -> asyncio.Future[list[str]]:
    """Returns a future of the name's addresses."""
    return asyncio.get_running_loop().run_in_executor(pool, _look_up, host, port)


def _look_up(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, family=socket.AF_INET, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


async def open_far_end(target: Target, resolve: Resolve = resolve) -> Stream:
    """Connects to exactly the address that was checked. Raises RefusedError."""
    try:
        async with asyncio.timeout(WITHIN):
            return await _open_first(await find_public(target, resolve), target.port)
    except TimeoutError:
        raise RefusedError(Why.SILENT, "The host does not answer.") from None
    except (OSError, UnicodeError):
        raise RefusedError(Why.UPSTREAM, "The host cannot be reached.") from None


async def find_public(target: Target, resolve: Resolve = resolve) -> list[str]:
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
