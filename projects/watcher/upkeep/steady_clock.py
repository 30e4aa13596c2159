"""Decides whether rows may be deleted by their age: only by a clock that has long been steady.

A clock that is wrong for a while must not cost what cannot be undone. The monotonic clock shows steps while this
process runs; the last time of a trusted clock in the database shows how far the clock was moved, or the service was
down, before. The last heartbeat would not: it has the time of a wrong clock, too.
"""

import time
from datetime import datetime, timedelta

from accounts import clock
from projects.models.processes.watcher import note_trusted_clock, read_trusted_clock

STEP = timedelta(minutes=1)
"""A larger change against the monotonic clock from one look to the next is a step. NTP's corrections are smaller."""

WAIT = timedelta(hours=1)
"""How long the clock must be steady after the start of the process and after a step."""

FAR = timedelta(days=1)
"""A clock this far from where it is expected may be wrong, or the service was down for as long."""

WAIT_IF_FAR = timedelta(days=1)
"""How long such a clock must be steady. By then every token of a session has expired by the right time as well."""

NOTED_EVERY = 60.0
"""Seconds between two notes of a trusted clock in the database."""


class SteadyClock:
    """One thread uses it, and looks every few seconds."""

    def __init__(self) -> None:
        self._expected: datetime | None = None
        self._last: datetime | None = None
        self._steady_since = 0.0
        self._noted_at: float | None = None

    def is_trusted(self) -> bool:
        """The first call must come before this process's first heartbeat, which has the time of the present clock."""
        ticks, now = time.monotonic(), clock.now()
        at_zero = now - timedelta(seconds=ticks)
        if self._expected is None:
            self._expected = (read_trusted_clock() or now) - timedelta(seconds=ticks)
        if self._last is None or abs(at_zero - self._last) > STEP:
            self._steady_since = ticks
        self._last = at_zero
        wait = WAIT_IF_FAR if abs(at_zero - self._expected) > FAR else WAIT
        if ticks - self._steady_since < wait.total_seconds():
            return False
        self._expected = at_zero
        if self._noted_at is None or ticks - self._noted_at >= NOTED_EVERY:
            note_trusted_clock(now)
            self._noted_at = ticks
        return True
