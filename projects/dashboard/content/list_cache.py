"""Remembers in each process which open lists are up to date.

Every open page asks every few seconds what has changed, and mostly nothing has. Once a list was found to be unchanged,
it is not read again until rows or events of its owner change.
"""

import time
from datetime import datetime
from threading import Lock
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

from accounts import clock
from accounts.http import SignedInRequest
from projects.models.rows.change_marks import Marks, ResponseBasis, read_marks
from projects.models.rows.steadiness import Steadiness

COMPARED_EVERY = 60.0
"""Seconds after which a page is compared completely again, because staff may have changed other rows than projects."""

REMEMBERED = 2000
"""How many pages a process remembers, with a kilobyte each."""

Key = tuple[UUID, str]
K = TypeVar("K")
V = TypeVar("V")


class _Same(NamedTuple):
    basis: ResponseBasis
    newest_event: int
    until: float


class Memory(Generic[K, V]):
    """A memory that forgets a quarter if it grows too large, because pages in use soon come back.

    It forgets every fourth entry instead of the oldest: open pages ask in turn, so the oldest would ask next. With only
    a few pages too many, most are still remembered.
    """

    def __init__(self) -> None:
        self._same: dict[K, V] = {}
        self._lock = Lock()

    def get(self, key: K) -> V | None:
        return self._same.get(key)

    def keep(self, key: K, same: V) -> None:
        with self._lock:
            if len(self._same) >= REMEMBERED and key not in self._same:
                for each in list(self._same)[::4]:
                    del self._same[each]
            self._same[key] = same


_memory: Memory[Key, _Same] = Memory()


def is_unchanged(key: Key, marks: Marks | None, now: datetime) -> bool:
    """Returns whether the owner's list at this address is known to be unchanged. `marks` are the present ones."""
    same = _memory.get(key)
    if same is None or marks is None or time.monotonic() >= same.until:
        return False
    return marks.newest_event == same.newest_event and same.basis.holds(marks.versions, now)


class ListPoll:
    """One poll of an open list. Its address has everything that the page shows."""

    def __init__(self, request: SignedInRequest) -> None:
        self._key = (request.user.pk, request.META.get("QUERY_STRING", ""))
        # Everything is from before the rows are read, so that no change in between is missed.
        self._began = clock.now()
        self._marks = read_marks(request.user.pk)

    def is_known_to_find_nothing(self) -> bool:
        return is_unchanged(self._key, self._marks, self._began)

    def found_nothing(self, steadiness: Steadiness | None) -> None:
        """Remembers that the list is unchanged. `steadiness` is that of all compared rows."""
        if self._marks is None or steadiness is None or not self._marks.versions.are_all_here:
            return
        versions, newest_event = self._marks
        basis = ResponseBasis(versions, steadiness)
        # If it holds at both moments, it also held in between, when the statuses were derived.
        if basis.holds(versions, self._began) and basis.holds(versions, clock.now()):
            _memory.keep(self._key, _Same(basis, newest_event, time.monotonic() + COMPARED_EVERY))
