"""Work that takes long, in slices: between two of them everybody else has their turn. One work at a time."""

import asyncio
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AbstractContextManager, asynccontextmanager
from typing import TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")
Slices = Generator[None, None, T]
"""Stops where others may have their turn, and returns what came of it."""


class Turns:
    """Of each project one waits for its turn, so that who sends many large requests waits behind their own."""

    def __init__(self) -> None:
        self._one = asyncio.Lock()
        self._of_project: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def taken(self, project: str) -> AsyncIterator[None]:
        own = self._of_project.setdefault(project, asyncio.Lock())
        async with own, self._one:
            yield


async def do(work: Slices[T], counted: Callable[[], AbstractContextManager[None]]) -> T:
    """Raises what the work does. `counted` is around each slice."""
    while True:
        with counted():
            try:
                next(work)
            except StopIteration as end:
                found: T = end.value
                return found
        await asyncio.sleep(0)


def do_at_once(work: Slices[T]) -> T:
    while True:
        try:
            next(work)
        except StopIteration as end:
            found: T = end.value
            return found
