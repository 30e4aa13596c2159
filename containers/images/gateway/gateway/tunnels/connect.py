"""Opens the far end of a tunnel: the name is resolved here, and what it leads to is looked at before it is asked."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

from gateway.rules.refusals import RefusedError, Why
from gateway.tunnels.target import Target, is_public

WITHIN = 10.0
"""Seconds for the name and all of its addresses."""
EACH_WITHIN = 4.0

_NAMES = ThreadPoolExecutor(8, thread_name_prefix="names")

Resolve = Callable[[str, int], Awaitable[list[str]]]
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def resolve(host: str, port: int) -> list[str]:
    """Raises OSError. Names that nobody answers keep other tunnels waiting, and not the way to the upstreams."""
    return await ask_for(host, port, pool=_NAMES)


def ask_for(host: str, port: int, *, pool: ThreadPoolExecutor) -> asyncio.Future[list[str]]:
    """The addresses of a name."""
    return asyncio.get_running_loop().run_in_executor(pool, _ask_for, host, port)


def _ask_for(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, family=socket.AF_INET, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


async def open_far_end(target: Target, resolve: Resolve = resolve) -> Stream:
    """Raises RefusedError. An address that is looked at is the very one that is connected to."""
    try:
        async with asyncio.timeout(WITHIN):
            return await _open_first(await find_public(target, resolve), target.port)
    except TimeoutError:
        raise RefusedError(Why.SILENT, "The host does not answer.") from None
    except (OSError, UnicodeError):
        raise RefusedError(Why.UPSTREAM, "The host cannot be reached.") from None


async def find_public(target: Target, resolve: Resolve = resolve) -> list[str]:
    """The addresses of the internet that the name leads to. Raises RefusedError where there is none, OSError."""
    addresses = await resolve(target.host, target.port)
    public = [address for address in addresses if is_public(address)]
    if not public:
        raise RefusedError(Why.FORBIDDEN, "The host's name leads to no address of the internet.")
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
