"""How often, and how often at a time, a project may ask its provider."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gateway.entries.entry import Entry
from gateway.rules.refusals import RefusedError, Why

MINUTE = 60.0


class Rates:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._asked: defaultdict[str, deque[float]] = defaultdict(deque)
        self._open: defaultdict[str, int] = defaultdict(int)

    @contextmanager
    def count(self, entry: Entry) -> Iterator[None]:
        """Counts a call while it lasts. Raises RefusedError for one too many."""
        asked = self._asked[entry.project]
        now = self._now()
        while asked and asked[0] <= now - MINUTE:
            asked.popleft()
        if self._open[entry.project] >= entry.limits.parallel:
            raise RefusedError(Why.RATE, "This agent asks its provider too often at a time.", retry_after=1)
        if len(asked) >= entry.limits.requests:
            wait = max(1, round(asked[0] + MINUTE - now)) if asked else 60
            raise RefusedError(Why.RATE, "This agent asks its provider too often.", retry_after=wait)
        asked.append(now)
        self._open[entry.project] += 1
        try:
            yield
        finally:
            self._open[entry.project] -= 1
