"""Resolves the names of servers to addresses of the public internet only, because owners choose the names."""

import asyncio
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from weakref import WeakValueDictionary

from aiohttp.abc import AbstractResolver, ResolveResult

from gateway.rules.refusals import RefusedError
from gateway.tunnels.connect import Resolve, find_public, look_up
from gateway.tunnels.target import Target

WITHIN = 10.0
"""Seconds for a lookup, including the wait for other lookups of the project."""
LOOKUPS_PER_PROJECT = 2
"""Simultaneous lookups of one project, so that a project whose names get no answer leaves threads for others."""
PROJECT: ContextVar[str] = ContextVar("project", default="")
"""The project for which a server is called."""

Look = Callable[[str, int], asyncio.Future[list[str]]]
_NAMES = ThreadPoolExecutor(32, thread_name_prefix="names-of-servers")


class Lookups:
    """Limits the lookups of each project. A lookup counts until its thread ends, even if its caller has given up."""

    def __init__(self, look: Look | None = None) -> None:
        self._look = look or partial(look_up, pool=_NAMES)
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def resolve(self, host: str, port: int) -> list[str]:
        """Raises OSError."""
        turns = self._turns.setdefault(PROJECT.get(), asyncio.Semaphore(LOOKUPS_PER_PROJECT))
        await turns.acquire()
        try:
            looking = self._look(host, port)
        except BaseException:
            turns.release()
            raise
        looking.add_done_callback(partial(_end, turns))
        await asyncio.wait([looking])
        return looking.result()


def _end(turns: asyncio.Semaphore, looking: asyncio.Future[list[str]]) -> None:
    """Reads the lookup's error, because asyncio logs errors that are never read, and this one contains the name."""
    if not looking.cancelled():
        looking.exception()
    turns.release()


class PublicResolver(AbstractResolver):
    """Resolver for aiohttp, which connects to exactly the addresses that it returns.

    aiohttp would not ask it about an IP address instead of a name, but entries contain none.
    """

    def __init__(self, resolve: Resolve | None = None) -> None:
        self._resolve = resolve or Lookups().resolve

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_INET,  # noqa: ARG002 - part of the library's interface
    ) -> list[ResolveResult]:
        """Raises OSError, of which TimeoutError is a subclass."""
        try:
            async with asyncio.timeout(WITHIN):
                found = await find_public(Target(host, port), self._resolve)
        except RefusedError as error:
            raise OSError(error.words) from None
        except UnicodeError:
            raise OSError("The name cannot be looked up.") from None
        return [
            ResolveResult(
                hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=socket.AI_NUMERICHOST
            )
            for address in found
        ]

    async def close(self) -> None:
        """Does nothing: there is nothing to close."""
