"""Finds the addresses of servers, of which only those of the internet are asked: owners name the servers."""

import asyncio
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from weakref import WeakValueDictionary

from aiohttp.abc import AbstractResolver, ResolveResult

from gateway.rules.refusals import RefusedError
from gateway.tunnels.connect import Resolve, ask_for, find_public
from gateway.tunnels.target import Target

WITHIN = 10.0
"""Seconds for a name, and for the turn before it."""
OF_ONE = 2
"""Names of a project that are looked up at a time, so that one whose names nobody answers leaves room for others."""
ASKER: ContextVar[str] = ContextVar("asker", default="")
"""The project for which a server is asked."""

Look = Callable[[str, int], asyncio.Future[list[str]]]
_NAMES = ThreadPoolExecutor(32, thread_name_prefix="names-of-servers")


class Lookups:
    """A thread goes on when nobody waits for it any more. It counts until it has ended."""

    def __init__(self, look: Look | None = None) -> None:
        self._look = look or partial(ask_for, pool=_NAMES)
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def resolve(self, host: str, port: int) -> list[str]:
        """Raises OSError."""
        turns = self._turns.setdefault(ASKER.get(), asyncio.Semaphore(OF_ONE))
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
    """What it has found is read, or asyncio would tell that nobody did, with the name."""
    if not looking.cancelled():
        looking.exception()
    turns.release()


class PublicResolver(AbstractResolver):
    """What it finds is what is connected to. An address in the place of a name never comes here: no entry has one."""

    def __init__(self, resolve: Resolve | None = None) -> None:
        self._resolve = resolve or Lookups().resolve

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_INET,  # noqa: ARG002 - the library's
    ) -> list[ResolveResult]:
        """Raises OSError, of which TimeoutError is one."""
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
        """There is nothing to close."""
