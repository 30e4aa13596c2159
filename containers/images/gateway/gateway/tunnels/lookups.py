"""Looks up names that agents and their owners choose, so that names without an answer delay only their own project."""

import asyncio
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from weakref import WeakValueDictionary

LOOKUPS_PER_PROJECT = 2
"""Simultaneous lookups of one project, so that a project whose names get no answer leaves threads for others."""
PROJECT: ContextVar[str] = ContextVar("project", default="")
"""The project for which a name is looked up."""

Look = Callable[[str, int], asyncio.Future[list[str]]]
_NAMES = ThreadPoolExecutor(64, thread_name_prefix="names")


class Lookups:
    """Limits the lookups of each project. A lookup counts until its thread ends, even if its caller has given up.

    Callers of one project that look up the same name at the same time share one lookup. So many connections to one
    name without an answer leave the project's other lookup for its other names.
    """

    def __init__(self, look: Look | None = None) -> None:
        self._look = look or _look_up
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._under_way: dict[tuple[str, str, int], asyncio.Future[list[str]]] = {}

    async def resolve(self, host: str, port: int) -> list[str]:
        """Returns the name's addresses. Raises OSError."""
        asked = PROJECT.get(), host, port
        looking = self._under_way.get(asked) or await self._take_turn(asked)
        await asyncio.wait([looking])
        return looking.result()

    async def _take_turn(self, asked: tuple[str, str, int]) -> asyncio.Future[list[str]]:
        project, host, port = asked
        turns = self._turns.setdefault(project, asyncio.Semaphore(LOOKUPS_PER_PROJECT))
        await turns.acquire()
        try:
            looking = self._under_way.get(asked)
            if looking is None:
                looking = self._under_way[asked] = self._look(host, port)
                looking.add_done_callback(partial(self._end, asked, turns))
                return looking
        except BaseException:
            turns.release()
            raise
        turns.release()
        return looking

    def _end(self, asked: tuple[str, str, int], turns: asyncio.Semaphore, looking: asyncio.Future[list[str]]) -> None:
        """Reads the lookup's error, because asyncio logs errors that are never read, and this one contains the name."""
        del self._under_way[asked]
        if not looking.cancelled():
            looking.exception()
        turns.release()


def _look_up(host: str, port: int) -> asyncio.Future[list[str]]:
    return asyncio.get_running_loop().run_in_executor(_NAMES, _find_addresses, host, port)


def _find_addresses(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, family=socket.AF_INET, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))
