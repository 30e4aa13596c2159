"""A gateway in a thread of this process, where a test can control what names resolve to and what its parts do."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.gateway.process import PATIENCE

if TYPE_CHECKING:
    from gateway.config import Config


@contextmanager
def in_thread(config: "Config") -> Iterator[int]:
    """Yields its port. Remaining tasks are cancelled at the end of the context, as at the end of a process."""
    from gateway.serving.gateway import open_gateway

    begun: Future[tuple[int, Callable[[], object]]] = Future()

    async def serve() -> None:
        over = asyncio.Event()
        async with open_gateway(config) as port:
            begun.set_result((port, partial(asyncio.get_running_loop().call_soon_threadsafe, over.set)))
            await over.wait()

    with ThreadPoolExecutor(1) as thread:
        served = thread.submit(asyncio.run, serve())
        either: list[Future[Any]] = [begun, served]
        wait(either, PATIENCE, FIRST_COMPLETED)
        if served.done():
            served.result()
        port, end = begun.result(0)
        try:
            yield port
        finally:
            end()
            served.result(PATIENCE)
