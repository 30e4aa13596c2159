"""Runs long computations in slices, so that other tasks can run between two slices."""

import asyncio
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AbstractContextManager, asynccontextmanager
from typing import TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")
Slices = Generator[None, None, T]
"""A computation that yields whenever other tasks may run, and returns the result."""


class Turns:
    """Lets one computation run at a time, in the order of arrival.

    Each project has at most one computation in the queue, so one with many large requests does not delay the others.
    """

    def __init__(self) -> None:
        self._one = asyncio.Lock()
        self._of_project: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def taken(self, project: str) -> AsyncIterator[None]:
        own = self._of_project.setdefault(project, asyncio.Lock())
        async with own, self._one:
            yield


async def run_in_slices(work: Slices[T], counted: Callable[[], AbstractContextManager[None]]) -> T:
    """Returns the result. Raises the errors of the computation. Enters `counted` around each slice."""
    while True:
        with counted():
            try:
                next(work)
            except StopIteration as end:
                found: T = end.value
                return found
        await asyncio.sleep(0)


def run_at_once(work: Slices[T]) -> T:
    while True:
        try:
            next(work)
        except StopIteration as end:
            found: T = end.value
            return found
