"""Limits how long entries of a cluster are valid, so that a node cut off from the service stops by itself.

A lease ends at a moment of this process's own clock, which the service has read before. So neither a delayed message
nor a changed wall clock extends it. Leases are not on disk: after a restart their remaining time would be unknown, so
they end.
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
    """Identifies the process to whose clock `until` refers."""
    until: float


def tick() -> float:
    """Returns seconds of a monotonic clock that also runs while the machine sleeps."""
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
        """Set with each new lease, so that the task that watches for ended leases wakes up."""

    def as_document(self) -> dict[str, Any]:
        """Returns the epoch and clock from which the service computes the end of a lease."""
        return {"epoch": self._epoch, "clock": self._now()}

    def grant(self, project: str, lease: Lease) -> bool:
        """Returns whether the lease is valid. Keeps an earlier lease that ends later."""
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
        """Returns the projects whose leases have ended since the last call."""
        now = self._now()
        ended = [project for project, until in self._until.items() if until <= now]
        for project in ended:
            del self._until[project]
        return ended

    def next_end(self) -> float | None:
        """Returns the seconds until the next lease ends, or None if there is none."""
        return max(0.0, min(self._until.values()) - self._now()) if self._until else None
