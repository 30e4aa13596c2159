"""How fast the requests of one address are taken, refused ones too, so that no agent keeps the gateway from others."""

from collections import OrderedDict
from collections.abc import Callable

ADDRESSES = 4096
"""That are remembered. The one that has asked the longest time ago is forgotten."""
BURST = 4.0
"""Seconds whose requests may come at once."""
LONGEST = 10.0
"""Seconds that a request waits at the most."""


class Pace:
    def __init__(self, rate: float, now: Callable[[], float]) -> None:
        """`rate`: requests of one address in a second."""
        self._each = 1 / rate
        self._now = now
        self._next: OrderedDict[str, float] = OrderedDict()

    def wait_for(self, address: str) -> float:
        """Counts a request, and returns the seconds until it may be looked at."""
        now = self._now()
        due = max(self._next.get(address, 0.0), now - BURST) + self._each
        self._next[address] = min(due, now + LONGEST)
        self._next.move_to_end(address)
        if len(self._next) > ADDRESSES:
            self._next.popitem(last=False)
        return max(0.0, self._next[address] - now)
