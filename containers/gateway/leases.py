"""Until when an entry counts on a node that may be cut off. The other end: `entries/leases.py` of the gateway.

A lease ends at a moment of the gateway's own clock, reckoned from a reading of it. So it has ended `LEASE` seconds
after that reading came back, no matter how late the grant arrives and how anybody's wall clock is set.
"""

from dataclasses import asdict, dataclass
from typing import Any

LEASE = 30.0
"""Seconds."""

MARGIN = 5.0
"""Seconds for what has to end when a lease is over, and for clocks of which one is slower than the other."""


@dataclass(frozen=True, slots=True)
class Lease:
    epoch: str
    until: float

    def as_document(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class GatewayClock:
    """A reading of the clock of a process of the gateway. `epoch` is another one in each process."""

    epoch: str
    clock: float

    def lease(self) -> Lease:
        """May be given for what was read from the database after this reading, and for nothing older."""
        return Lease(self.epoch, self.clock + LEASE)
