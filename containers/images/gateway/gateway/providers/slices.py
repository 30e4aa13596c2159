"""Runs long computations in slices, so that others get their turn between two slices. One computation at a time."""

import asyncio
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AbstractContextManager, asynccontextmanager
from typing import TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")
Slices = Generator[None, None, T]
"""Yields whenever others may have their turn, and returns the result."""


class Turns:
    """Lets one computation of each project wait for its turn, so that a project's many large requests wait for each
    other.
    """

    def __init__(self) -> None:
        self._one = asyncio.Lock()
        self._of_project: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def taken(self, project: str) -> AsyncIterator[None]:
        own = self._of_project.setdefault(project, asyncio.Lock())
        async with own, self._one:
            yield


async def do(work: Slices[T], counted: Callable[[], AbstractContextManager[None]]) -> T:
    """Raises the errors of the computation. `counted` is entered around each slice."""
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
