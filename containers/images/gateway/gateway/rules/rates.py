"""How often, and how often at a time, a project may ask its provider."""

import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gateway.entries.entry import Entry
from gateway.rules.refusals import RefusedError, Why

MINUTE = 60.0
SHARE = 0.05
"""Of the gateway's one processor, which reading the requests of a project may take."""
BURST = 5.0
"""Seconds of which the share may be taken at once."""
OF_A_BYTE = 1e-9
"""Seconds that it takes to receive one."""
OF_A_PASSED_BYTE = 5e-9
"""Seconds that it takes to receive one and to send it on as it came."""


class Rates:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._asked: defaultdict[str, deque[float]] = defaultdict(deque)
        self._open: defaultdict[str, int] = defaultdict(int)
        self._busy_until: defaultdict[str, float] = defaultdict(float)

    @property
    def is_any_open(self) -> bool:
        """Whether a call of anybody is under way."""
        return any(self._open.values())

    @contextmanager
    def count(self, entry: Entry) -> Iterator[None]:
        """Counts a call while it lasts. Raises RefusedError for one too many."""
        asked = self._asked[entry.project]
        now = self._now()
        while asked and asked[0] <= now - MINUTE:
            asked.popleft()
        self.check_share(entry)
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

    def check_share(self, entry: Entry) -> None:
        """Raises RefusedError for a project that has taken more than its share of the processor."""
        if (wait := self._busy_until[entry.project] - self._now()) > 0:
            words = "This agent's requests take too long to read."
            raise RefusedError(Why.RATE, words, retry_after=math.ceil(wait))

    @contextmanager
    def reading(self, entry: Entry) -> Iterator[None]:
        """Counts the processor time of what is done meanwhile. Nothing else can be done meanwhile for anybody."""
        began = time.thread_time()
        try:
            yield
        finally:
            self._charge(entry, time.thread_time() - began)

    def received(self, entry: Entry, size: int) -> None:
        """Counts what it takes to receive so many bytes."""
        self._charge(entry, size * OF_A_BYTE)

    def passed(self, entry: Entry, size: int) -> None:
        """Counts what it takes to pass so many bytes on."""
        self._charge(entry, size * OF_A_PASSED_BYTE)

    def _charge(self, entry: Entry, seconds: float) -> None:
        free_since = max(self._busy_until[entry.project], self._now() - BURST)
        self._busy_until[entry.project] = free_since + seconds / SHARE
