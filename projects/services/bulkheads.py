"""Places: how many requests may wait for the engine, or for somebody outside, at a time.

They are counted in each process, whose threads they keep free for others: a read needs none. Nobody waits for a place.
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
    """`total` places, of which one person gets `each` at most, and more than one only while others have some left.

    The last `reserve` places are for those who have none yet: where somebody takes all they can, others still get one.
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
        """Takes a place where there is one. It is given back with `give_back`."""
        with self._lock:
            if not self._has_left(person):
                return False
            self._held[person] += 1
            return True

    def has_left(self, person: str) -> bool:
        """Whether there is one at this moment. Somebody else may take it before this person does."""
        with self._lock:
            return self._has_left(person)

    def _has_left(self, person: str) -> bool:
        mine, left = self._held.get(person, 0), self._total - self._held.total()
        return mine < self._each and left > (self._reserve if mine else 0)

    def give_back(self, person: str) -> None:
        with self._lock:
            self._held[person] -= 1
            self._held += Counter()  # forgets those who have none any more

    @contextmanager
    def take(self, person: str) -> Iterator[None]:
        """Holds a place. Raises `NoPlaceError` where there is none."""
        if not self.try_take(person):
            raise NoPlaceError
        try:
            yield
        finally:
            self.give_back(person)


def _share(parts: int) -> int:
    return max(1, settings.BERTH_THREADS // parts)


COMMANDS = Places(total=_share(2), each=_share(4), reserve=_share(8))
"""For what asks the engine, Telegram or a provider to do something: half of the threads."""

WAITS = Places(total=_share(4), each=_share(8), reserve=_share(16))
"""For answers that are held until a status has settled: a quarter of the threads."""

STREAMS = Places(total=settings.BERTH_STREAMS, each=settings.BERTH_STREAMS // 4, reserve=settings.BERTH_STREAMS // 4)
"""For event streams, which have threads of their own."""


def takes_place(service: Callable[P, T]) -> Callable[P, T]:
    """For a service with an `actor`, who must have a place for a command. Raises `NoPlaceError`."""

    @wraps(service)
    def within_place(*args: P.args, **kwargs: P.kwargs) -> T:
        actor: Any = kwargs["actor"]
        with COMMANDS.take(actor.label):
            return service(*args, **kwargs)

    return within_place
