"""Who asks: the virtual credential and the source address must both be those of one project."""

from collections import OrderedDict
from collections.abc import Callable
from enum import Enum, auto

from gateway.entries.entry import Entry, digest
from gateway.entries.table import Table

ADDRESSES = 4096
CREDENTIALS = 64
"""How many unknown credentials are remembered: of so many addresses so many each. The oldest are forgotten."""


class Stranger(Enum):
    LATER = auto()
    """Nobody is known by this credential yet, or not at this address: the entry of a new container may be on its way.
    Or it has no lease just now."""
    NOBODY = auto()


class Grace:
    """How long an unknown credential has been shown by an address."""

    def __init__(self, seconds: float, now: Callable[[], float]) -> None:
        self._seconds = seconds
        self._now = now
        self._seen: OrderedDict[str, OrderedDict[str, float]] = OrderedDict()

    def is_over(self, address: str, virtual: str) -> bool:
        of_address = self._seen.setdefault(address, OrderedDict())
        first = of_address.setdefault(virtual, self._now())
        self._seen.move_to_end(address)
        if len(of_address) > CREDENTIALS:
            of_address.popitem(last=False)
        if len(self._seen) > ADDRESSES:
            self._seen.popitem(last=False)
        return self._now() - first >= self._seconds


def identify(table: Table, grace: Grace, *, credential: str, address: str) -> Entry | Stranger:
    """The entry of the project whose credential this is. It may be that of the bot or that of the provider."""
    virtual = digest(credential)
    entry = table.find(virtual)
    if entry is not None and entry.assigned and entry.address != address:
        return Stranger.LATER
    if entry is not None and entry.address not in (None, address):
        return Stranger.NOBODY
    if entry is not None:
        return entry if table.counts(entry) else Stranger.LATER
    if table.is_void(virtual) or grace.is_over(address, virtual):
        return Stranger.NOBODY
    return Stranger.LATER
