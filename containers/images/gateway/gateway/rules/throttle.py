"""Limits the rate of requests from one address, including refused ones, so that no agent slows down the others."""

from collections import OrderedDict
from collections.abc import Callable

ADDRESSES = 4096
"""How many addresses are remembered. The one whose last request is the oldest is forgotten first."""
BURST = 4.0
"""Seconds' worth of requests that may come at once."""
LONGEST = 10.0
"""The most seconds that a request waits."""


class Throttle:
    def __init__(self, rate: float, now: Callable[[], float]) -> None:
        """`rate` is the number of requests per second from one address."""
        self._each = 1 / rate
        self._now = now
        self._next: OrderedDict[str, float] = OrderedDict()

    def wait_for(self, address: str) -> float:
        """Counts a request, and returns the seconds that it must wait."""
        now = self._now()
        due = max(self._next.get(address, 0.0), now - BURST) + self._each
        self._next[address] = min(due, now + LONGEST)
        self._next.move_to_end(address)
        if len(self._next) > ADDRESSES:
            self._next.popitem(last=False)
        return max(0.0, self._next[address] - now)
