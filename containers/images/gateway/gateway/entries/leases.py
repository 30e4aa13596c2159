"""Until when entries of a cluster count: a node that is cut off from the service falls silent by itself.

A lease is granted until a moment of this process's own clock, which the service has read before. So a word that was
long on its way makes nothing longer, and neither does a wall clock that is set. Nothing of it is on the disk: after a
restart nobody knows how long a lease would hold, and it is over.
"""

import secrets
import time
from asyncio import Event
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.entries.fields import EntryError, read_object

LONGEST = 30.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Lease:
    epoch: str
    """Of the process whose clock is meant."""
    until: float


def tick() -> float:
    """Seconds of a clock that nobody sets, and that goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def read_lease(value: object) -> Lease | None:
    """Raises EntryError."""
    if value is None:
        return None
    given = read_object(value, "lease")
    epoch, until = given.get("epoch"), given.get("until")
    if not isinstance(epoch, str) or isinstance(until, bool) or not isinstance(until, int | float):
        raise EntryError("lease has an epoch and a moment.")
    return Lease(epoch, float(until))


class Leases:
    def __init__(self, now: Callable[[], float] = tick) -> None:
        self._now = now
        self._epoch = secrets.token_hex(8)
        self._until: dict[str, float] = {}
        self.granted = Event()
        """Set with each lease, for whoever waits for the end of the first one."""

    def as_document(self) -> dict[str, Any]:
        """From where the service reckons when a lease is to end."""
        return {"epoch": self._epoch, "clock": self._now()}

    def grant(self, project: str, lease: Lease) -> bool:
        """Whether it holds. A lease that has come before and ends later stays."""
        now = self._now()
        if lease.epoch != self._epoch or not now < lease.until:
            return self.holds(project)
        self._until[project] = max(self._until.get(project, 0.0), min(lease.until, now + LONGEST))
        self.granted.set()
        return True

    def holds(self, project: str) -> bool:
        return self._now() < self._until.get(project, 0.0)

    def drop(self, project: str) -> None:
        self._until.pop(project, None)

    def take_ended(self) -> list[str]:
        """The projects whose leases have ended since this was asked the last time."""
        now = self._now()
        ended = [project for project, until in self._until.items() if until <= now]
        for project in ended:
            del self._until[project]
        return ended

    def next_end(self) -> float | None:
        """Seconds until the next one ends. None where there is none."""
        return max(0.0, min(self._until.values()) - self._now()) if self._until else None
