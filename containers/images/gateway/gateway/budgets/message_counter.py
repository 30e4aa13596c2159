"""Counts the messages that bots have sent, and writes the counts of each second together."""

import asyncio
from collections import defaultdict
from collections.abc import Callable

from gateway.budgets.changes import Cell, Counts, Settle
from gateway.budgets.tasks import Work
from gateway.periods import hour_of

FLUSH_INTERVAL = 1.0
"""Seconds for which counts are collected before they are written."""


class MessageCounter:
    def __init__(self, write: Callable[[Work], None], now: Callable[[], float]) -> None:
        self._write = write
        self._now = now
        self._counts: defaultdict[tuple[str, int], int] = defaultdict(int)

    def count(self, project: str) -> None:
        if not self._counts:
            asyncio.get_running_loop().call_later(FLUSH_INTERVAL, self.flush)
        self._counts[project, hour_of(self._now())] += 1

    def flush(self) -> None:
        counts, self._counts = self._counts, defaultdict(int)
        for (project, hour), count in counts.items():
            self._write(Settle((), {Cell(project, hour, ""): Counts(messages=count)}))
