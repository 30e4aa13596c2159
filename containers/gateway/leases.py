"""Leases limit how long an entry is valid on a node that may be cut off. The other side is `entries/leases.py` there.

A lease ends at a time on the gateway's own clock, computed from a reading of it. So it has ended `LEASE` seconds after
that reading arrived, no matter how late the grant arrives and how any wall clock is set.
"""

from dataclasses import asdict, dataclass
from typing import Any

LEASE = 30.0
"""Seconds."""

MARGIN = 5.0
"""Extra seconds in which requests end after a lease, and for clocks that run at different speeds."""


@dataclass(frozen=True, slots=True)
class Lease:
    epoch: str
    until: float

    def as_document(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class GatewayClock:
    """A reading of a gateway process's clock. `epoch` is different in each process."""

    epoch: str
    clock: float

    def lease(self) -> Lease:
        """Returns a lease. It may be granted only for entries that were read from the database after this reading."""
        return Lease(self.epoch, self.clock + LEASE)
