"""Places: limits on how many requests may wait for the engine or for outside servers at a time.

Each process counts its own, to keep threads free for other requests; a read needs no place. Requests never wait for a
place: without a free one they are refused.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.conf import settings

from projects.errors import NoPlaceError

P = ParamSpec("P")
T = TypeVar("T")


class Places:
    """`total` places, of which one person gets at most `each`.

    The last `reserve` places are for people who have none yet, so that others still get one if somebody takes all they
    can.
    """

    def __init__(self, *, total: int, each: int, reserve: int) -> None:
        self._total = total
        self._each = each
        self._reserve = reserve
        self._held: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def taken(self) -> int:
        with self._lock:
            return self._held.total()

    def try_take(self, person: str) -> bool:
        """Takes a place and returns True if there is one. Return it with `give_back`."""
        with self._lock:
            if not self._has_left(person):
                return False
            self._held[person] += 1
            return True

    def has_left(self, person: str) -> bool:
        """Returns whether there is a place now. Somebody else may take it first."""
        with self._lock:
            return self._has_left(person)

    def _has_left(self, person: str) -> bool:
        mine, left = self._held.get(person, 0), self._total - self._held.total()
        return mine < self._each and left > (self._reserve if mine else 0)

    def give_back(self, person: str) -> None:
        with self._lock:
            self._held[person] -= 1
            self._held += Counter()  # removes people without places

    @contextmanager
    def take(self, person: str) -> Iterator[None]:
        """Holds a place. Raises `NoPlaceError` if there is none."""
        if not self.try_take(person):
            raise NoPlaceError
        try:
            yield
        finally:
            self.give_back(person)


def _share(parts: int) -> int:
    return max(1, settings.BERTH_THREADS // parts)


COMMANDS = Places(total=_share(2), each=_share(4), reserve=_share(8))
"""For requests to the engine, Telegram or a provider: half of the threads."""

WAITS = Places(total=_share(4), each=_share(8), reserve=_share(16))
"""For requests that wait until a status has settled: a quarter of the threads."""

STREAMS = Places(total=settings.BERTH_STREAMS, each=settings.BERTH_STREAMS // 4, reserve=settings.BERTH_STREAMS // 4)
"""For event streams, which have threads of their own."""


def takes_place(service: Callable[P, T]) -> Callable[P, T]:
    """Decorates a service with an `actor`, who needs a place in `COMMANDS` for it. Raises `NoPlaceError`."""

    @wraps(service)
    def within_place(*args: P.args, **kwargs: P.kwargs) -> T:
        actor: Any = kwargs["actor"]
        with COMMANDS.take(actor.label):
            return service(*args, **kwargs)

    return within_place
