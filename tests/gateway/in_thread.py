"""A gateway in a thread of this process, where a test can say what names lead to and what its parts do."""

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
    """Yields its port. What it still does when the context ends is cancelled, as where its process ends."""
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
