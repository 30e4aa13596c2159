"""How much of the gateway's one processor somebody may take. What is taken too early is paid back by waiting."""

from collections import OrderedDict
from collections.abc import Callable

REMEMBERED = 4096
"""Who has taken something. The one that has taken nothing for the longest time is forgotten."""
BURST = 5.0
"""Seconds of which the share may be taken at once."""


class Share:
    def __init__(self, share: float, now: Callable[[], float]) -> None:
        """`share`: of the processor's time."""
        self._share = share
        self._now = now
        self._busy_until: OrderedDict[str, float] = OrderedDict()

    def take(self, who: str, seconds: float) -> float:
        """Counts seconds of the processor, and returns those until there is more to be had."""
        now = self._now()
        until = max(self._busy_until.get(who, 0.0), now - BURST) + seconds / self._share
        self._busy_until[who] = until
        self._busy_until.move_to_end(who)
        if len(self._busy_until) > REMEMBERED:
            self._busy_until.popitem(last=False)
        return max(0.0, until - now)

    def wait_for(self, who: str) -> float:
        return max(0.0, self._busy_until.get(who, 0.0) - self._now())
