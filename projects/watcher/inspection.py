"""Inspects several containers side by side, so that one for which the engine is stuck delays no other."""

from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial

from django.db import connection

from containers.get_engine import get_engine
from containers.vocabulary import Observation

AT_ONCE = 8

WORTH_THREADS = 3
"""Containers for which threads are made. Fewer are inspected one after the other."""

WITHIN = 1.5
"""Seconds that a round waits for what the engine says of one container."""

Answer = Callable[[], Observation | None]
"""The container, or None where the engine has none. Raises `EngineError`."""


@contextmanager
def inspecting(keys: Collection[str]) -> Iterator[Iterator[tuple[str, Answer]]]:
    """Gives each key with its answer, in the order in which the engine gives them."""
    if len(keys) < WORTH_THREADS:
        yield ((key, partial(inspect, key)) for key in keys)
        return
    pool = ThreadPoolExecutor(AT_ONCE, "inspect")
    asked: dict[Future[Observation | None], str] = {pool.submit(_inspect_in_thread, key): key for key in keys}
    try:
        yield ((asked[future], future.result) for future in as_completed(asked))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def inspect(key: str) -> Observation | None:
    with get_engine().deadline(WITHIN):
        return get_engine().inspect(key)


def _inspect_in_thread(key: str) -> Observation | None:
    try:
        return inspect(key)
    finally:
        connection.close()
