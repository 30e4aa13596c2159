"""Limits how much of the gateway's one processor each address or project may use, and makes it wait for more."""

from collections import OrderedDict
from collections.abc import Callable

REMEMBERED = 4096
"""How many users of the processor are remembered. The one whose last use is the oldest is forgotten first."""
BURST = 5.0
"""The share of this many seconds may be used at once."""


class CpuShare:
    def __init__(self, share: float, now: Callable[[], float]) -> None:
        """`share` is a fraction of the processor's time."""
        self._share = share
        self._now = now
        self._busy_until: OrderedDict[str, float] = OrderedDict()

    def take(self, user: str, seconds: float) -> float:
        """Counts seconds of processor time, and returns the seconds until this user may use more."""
        now = self._now()
        until = max(self._busy_until.get(user, 0.0), now - BURST) + seconds / self._share
        self._busy_until[user] = until
        self._busy_until.move_to_end(user)
        if len(self._busy_until) > REMEMBERED:
            self._busy_until.popitem(last=False)
        return max(0.0, until - now)

    def wait_for(self, user: str) -> float:
        """Returns the seconds until this user may use more."""
        return max(0.0, self._busy_until.get(user, 0.0) - self._now())
