"""Limits a project's calls per minute, its simultaneous calls, and its share of the processor."""

import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gateway.entries.entry import Entry
from gateway.rules.cpu_share import CpuShare
from gateway.rules.refusals import RefusedError, Why

MINUTE = 60.0
READING_SHARE = 0.03
PASSING_SHARE = 0.05
"""Each project's shares of the gateway's one processor: for reading its requests, and for passing on its answers."""
SECONDS_TO_RECEIVE_A_BYTE = 1e-9
"""Seconds of processor time to receive one byte."""
SECONDS_TO_PASS_A_BYTE = 5e-9
"""Seconds of processor time to receive one byte and pass it on unchanged."""
SECONDS_FOR_A_PIECE = 2e-5
"""Seconds of processor time for each piece of an answer, in addition (`tests/benchmarks/gateway.py`)."""


class Rates:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._asked: defaultdict[str, deque[float]] = defaultdict(deque)
        self._open: defaultdict[str, int] = defaultdict(int)
        self._reading = CpuShare(READING_SHARE, now)
        self._passing = CpuShare(PASSING_SHARE, now)

    @property
    def is_any_open(self) -> bool:
        """Whether any project has a call in flight."""
        return any(self._open.values())

    @contextmanager
    def count(self, entry: Entry) -> Iterator[None]:
        """Counts a call while it lasts. Raises RefusedError if it exceeds a limit."""
        times = self._asked[entry.project]
        now = self._now()
        while times and times[0] <= now - MINUTE:
            times.popleft()
        self.check_share(entry)
        if self._open[entry.project] >= entry.limits.parallel:
            raise RefusedError(Why.RATE, "This agent has too many calls in progress.", retry_after=1)
        if len(times) >= entry.limits.requests:
            wait = max(1, math.ceil(times[0] + MINUTE - now)) if times else 60
            raise RefusedError(Why.RATE, "This agent makes too many calls per minute.", retry_after=wait)
        times.append(now)
        self._open[entry.project] += 1
        try:
            yield
        finally:
            self._open[entry.project] -= 1

    def check_share(self, entry: Entry) -> None:
        """Raises RefusedError if the project has used more than its share of the processor."""
        if wait := self._reading.wait_for(entry.project):
            words = "This agent's requests take too long to read."
            raise RefusedError(Why.RATE, words, retry_after=math.ceil(wait))

    @contextmanager
    def reading(self, entry: Entry) -> Iterator[None]:
        """Counts the thread's processor time inside the context. The context must not await, or other projects' work
        would count too.
        """
        began = time.thread_time()
        try:
            yield
        finally:
            self._reading.take(entry.project, time.thread_time() - began)

    def received(self, entry: Entry, size: int) -> None:
        """Counts the processor time for receiving this many bytes."""
        self._reading.take(entry.project, size * SECONDS_TO_RECEIVE_A_BYTE)

    def passed(self, entry: Entry, size: int) -> None:
        """Counts the processor time for passing this many bytes on."""
        self._reading.take(entry.project, size * SECONDS_TO_PASS_A_BYTE)

    def spent(self, entry: Entry, seconds: float) -> None:
        """Counts seconds of processor time that an answer took and that were not paid with its pieces."""
        self._reading.take(entry.project, seconds)

    def pay(self, entry: Entry, size: int, spent: float = 0.0) -> float:
        """Counts the processor time for passing on a piece of an answer, plus the seconds `spent` on reading it.

        Returns the seconds until the next piece may pass.
        """
        return self._passing.take(entry.project, SECONDS_FOR_A_PIECE + size * SECONDS_TO_PASS_A_BYTE + spent)
