"""Which open lists have nothing new to be told, remembered by each process.

Every open page asks every few seconds what has changed, and mostly nothing has. What was compared once, and found to be
the same, is not read again while the rows and events of its owner are what they were.
"""

import time
from datetime import datetime
from threading import Lock
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

from accounts import clock
from accounts.http import SignedInRequest
from projects.models.rows.steadiness import Steadiness
from projects.models.rows.unchanged import Basis, Marks, read_marks

COMPARED_EVERY = 60.0
"""Seconds after which a page is compared as a whole again: staff may have changed what is in no row of a project."""

REMEMBERED = 2000
"""Pages of a process: a kilobyte each."""

Key = tuple[UUID, str]
K = TypeVar("K")
V = TypeVar("V")


class _Same(NamedTuple):
    basis: Basis
    newest_event: int
    until: float


class Memory(Generic[K, V]):
    """Forgets a quarter where it grows too large: what is asked for again comes back by itself.

    Every fourth, and not the oldest: open pages ask in turn, so that the oldest are those that ask next. With a few
    more pages than there is room for, most are still remembered.
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
    """Whether the list of this owner, at this address, is known to be what its page shows. `marks` are of now."""
    same = _memory.get(key)
    if same is None or marks is None or time.monotonic() >= same.until:
        return False
    return marks.newest_event == same.newest_event and same.basis.holds(marks.versions, now)


class Look:
    """One question of an open list. Its address says all that the page shows."""

    def __init__(self, request: SignedInRequest) -> None:
        self._key = (request.user.pk, request.META.get("QUERY_STRING", ""))
        # All of it is of before the rows are read, so that a change in between is not missed.
        self._began = clock.now()
        self._marks = read_marks(request.user.pk)

    def is_known_to_find_nothing(self) -> bool:
        return is_unchanged(self._key, self._marks, self._began)

    def found_nothing(self, steadiness: Steadiness | None) -> None:
        """`steadiness` is that of all the rows that were compared."""
        if self._marks is None or steadiness is None or not self._marks.versions.are_all_here:
            return
        versions, newest_event = self._marks
        basis = Basis(versions, steadiness)
        # At both moments, and so at the one in between at which the statuses were derived.
        if basis.holds(versions, self._began) and basis.holds(versions, clock.now()):
            _memory.keep(self._key, _Same(basis, newest_event, time.monotonic() + COMPARED_EVERY))
