"""Inspects several containers in parallel, so that one at which the engine hangs does not delay others."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from functools import partial

from django.db import connection

from containers.errors import EngineUnavailableError
from containers.get_engine import get_engine
from containers.processes.side_work import begin_in_time
from containers.vocabulary import Observation

AT_ONCE = 8

WORTH_THREADS = 2
"""The least number of containers for which threads are started. Fewer are inspected one after the other."""

WITHIN = 1.5
"""Seconds for the engine to answer about one container in a round."""

BEGIN_WITHIN = 1.0
"""Seconds for a thread to begin. If memory is exhausted, it never does."""

NEXT_WITHIN = 10.0
"""Seconds within which the next answer must arrive. Each question has its own limit, but a thread without memory never
answers."""

Answer = Callable[[], Observation | None]
"""Returns the container, or None if the engine has none. Raises `EngineError`."""


Instead = Callable[[str], Answer | None]
"""Returns a substitute for the engine's answer about the container with this key, or None if there is none."""


@contextmanager
def inspecting(keys: Mapping[str, str], *, until: float, instead: Instead) -> Iterator[Iterator[tuple[str, Answer]]]:
    """Yields each key with its answer, in the order in which the engine answers. `keys` has the ids of the containers,
    or empty strings: see `Engine.inspect`.

    From `until` (on the monotonic clock) on, it waits only for keys without a substitute. If no thread begins, the
    caller's thread asks for one after the other.
    """
    futures: dict[Future[Observation | None], str] = {Future(): key for key in keys}
    if len(keys) < WORTH_THREADS or not _begin_threads(futures, keys):
        yield ((key, partial(inspect, key, of=of)) for key, of in keys.items())
        return
    try:
        yield _as_answered(futures, until=until, instead=instead)
    finally:
        for future in futures:
            future.cancel()


def _begin_threads(futures: Mapping[Future[Observation | None], str], ids: Mapping[str, str]) -> bool:
    """Starts threads that work through the keys. Returns whether at least one has begun."""
    left = deque(futures.items())

    def work_off() -> None:
        try:
            while left:
                with suppress(IndexError):  # another thread was quicker
                    future, key = left.popleft()
                    _inspect_for(future, key, of=ids[key])
        finally:
            connection.close()

    begun = 0
    while begun < min(AT_ONCE, len(futures)) and begin_in_time(work_off, BEGIN_WITHIN):
        begun += 1
    return begun > 0


def _inspect_for(future: Future[Observation | None], key: str, *, of: str) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(inspect(key, of=of))
    except BaseException as error:  # noqa: BLE001 - raised again when the caller asks for the result
        future.set_exception(error)


def _as_answered(
    futures: dict[Future[Observation | None], str], *, until: float, instead: Instead
) -> Iterator[tuple[str, Answer]]:
    pending = set(futures)
    while pending:
        left = until - time.monotonic()
        done, pending = wait(pending, timeout=left if left > 0 else NEXT_WITHIN, return_when=FIRST_COMPLETED)
        if not done and left <= 0:
            yield from ((futures[future], _never_answered) for future in pending)
            return
        for future in done:
            yield futures[future], future.result
        for future in list(pending) if time.monotonic() >= until else ():
            if answer := instead(futures[future]):
                future.cancel()
                pending.discard(future)
                yield futures[future], answer


def _never_answered() -> Observation | None:
    raise EngineUnavailableError("The engine did not answer in time.")


def inspect(key: str, *, of: str = "", within: float = WITHIN) -> Observation | None:
    """`of`: see `Engine.inspect`."""
    with get_engine().deadline(within):
        return get_engine().inspect(key, of=of)
