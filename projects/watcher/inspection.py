"""Inspects several containers side by side, so that one for which the engine is stuck delays no other."""

import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial

from django.db import connection

from containers.errors import EngineUnavailableError
from containers.get_engine import get_engine
from containers.vocabulary import Observation

AT_ONCE = 8

WORTH_THREADS = 2
"""Containers for which threads are made. Fewer are inspected one after the other."""

WITHIN = 1.5
"""Seconds that a round waits for what the engine says of one container."""

NEXT_WITHIN = 10.0
"""Seconds for one more of those that are asked to answer, each of which has its limit. A thread that has found no
memory never does."""

Answer = Callable[[], Observation | None]
"""The container, or None where the engine has none. Raises `EngineError`."""


Instead = Callable[[str], Answer | None]
"""What may take the place of the engine's answer for the container of this key, where there is anything."""


@contextmanager
def inspecting(keys: Collection[str], *, until: float, instead: Instead) -> Iterator[Iterator[tuple[str, Answer]]]:
    """Gives each key with its answer, in the order in which the engine gives them.

    From `until` on, a moment of the monotonic clock, it waits only where there is nothing instead. What the engine has
    answered by then is given all the same.
    """
    if len(keys) < WORTH_THREADS:
        yield ((key, partial(inspect, key)) for key in keys)
        return
    pool = ThreadPoolExecutor(AT_ONCE, "inspect")
    asked: dict[Future[Observation | None], str] = {pool.submit(_inspect_in_thread, key): key for key in keys}
    try:
        yield _as_answered(asked, until=until, instead=instead)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _as_answered(
    asked: dict[Future[Observation | None], str], *, until: float, instead: Instead
) -> Iterator[tuple[str, Answer]]:
    pending = set(asked)
    while pending:
        left = until - time.monotonic()
        done, pending = wait(pending, timeout=left if left > 0 else NEXT_WITHIN, return_when=FIRST_COMPLETED)
        if not done and left <= 0:
            yield from ((asked[future], _never_answered) for future in pending)
            return
        for future in done:
            yield asked[future], future.result
        for future in list(pending) if time.monotonic() >= until else ():
            if answer := instead(asked[future]):
                future.cancel()
                pending.discard(future)
                yield asked[future], answer


def _never_answered() -> Observation | None:
    raise EngineUnavailableError("The engine did not answer in time.")


def inspect(key: str, *, within: float = WITHIN) -> Observation | None:
    with get_engine().deadline(within):
        return get_engine().inspect(key)


def _inspect_in_thread(key: str) -> Observation | None:
    try:
        return inspect(key)
    finally:
        connection.close()
