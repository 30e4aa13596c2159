"""The watcher under the supervisor: restarted if it died, and killed if it hangs."""

import logging
import math
import multiprocessing
import time
from collections.abc import Callable
from ctypes import c_double
from multiprocessing.process import BaseProcess

from config.serving.supervision.children import KILLED_WITHIN

logger = logging.getLogger("berth.serve")

SHORTEST_BACKOFF, LONGEST_BACKOFF = 1.0, 8.0
"""Seconds before a dead watcher is restarted. Statuses are `unknown` meanwhile, so the longest pause is short: after a
lack of processes or memory is over, a watcher starts within it."""
BOOT_WITHIN, LONGEST_BOOT = 60.0, 480.0
"""Seconds that a new watcher has until its first sign of life. After one that was killed before it, the next has twice
as long, at most the second number: on an overloaded machine no watcher would ever begin to work otherwise."""
LOOK_EVERY = 1.0
OVERDUE_LOOKS = 3
"""Consecutive checks in which the watcher must be overdue.

A watcher that was stopped together with this process, for example with the whole machine, shows in between that it
continues."""


class KeptWatcher:
    """`start` begins a watcher, which writes into the given number until when it will have shown that it lives.

    It raises `OSError` if the system has no room for a process.
    """

    def __init__(self, start: Callable[[c_double], BaseProcess]) -> None:
        self._start = start
        # No lock, because a lock held by a stopped process would stop this one, too.
        self.due: c_double = multiprocessing.get_context("spawn").RawValue("d", 0.0)
        self.child: BaseProcess | None = None
        self._boot_within, self._boot_until = BOOT_WITHIN, 0.0
        self._backoff = SHORTEST_BACKOFF
        self._since = 0.0
        self._restart_at: float | None = None
        self._overdue_looks = 0

    @property
    def has_shown_itself(self) -> bool:
        """Whether it has begun to work since it was started."""
        return self.child is not None and not math.isclose(self.due.value, self._boot_until)

    @property
    def seconds_to_look(self) -> float:
        """Seconds until a restart is due, and no longer than until the next check."""
        if self._restart_at is None:
            return LOOK_EVERY
        return min(LOOK_EVERY, max(0.05, self._restart_at - time.monotonic()))

    def start(self) -> None:
        self._boot_until, self._overdue_looks = time.monotonic() + self._boot_within, 0
        self.due.value = self._boot_until
        self.child = self._start(self.due)

    def look_after(self) -> None:
        if self.child is not None:
            self.restart(self.child)
            self.end_stuck(self.child)

    def restart(self, watcher: BaseProcess) -> None:
        """Restarts a dead one after a pause that doubles with every death that follows soon."""
        if watcher.is_alive():
            return
        now = time.monotonic()
        if self._restart_at is None:
            if now - self._since > 2 * LONGEST_BACKOFF:
                self._backoff = SHORTEST_BACKOFF
            logger.error("The watcher died with exit code %s; again in %.0f s.", watcher.exitcode, self._backoff)
            self._restart_at = now + self._backoff
            self._backoff = min(self._backoff * 2, LONGEST_BACKOFF)
        elif now >= self._restart_at:
            try:
                self.start()
            except OSError as error:  # the system has no room for a process
                logger.error("The watcher cannot be started, and is tried again: %s", error)  # noqa: TRY400 - says all
                self._restart_at = now + self._backoff
                return
            self._restart_at, self._since = None, now

    def end_stuck(self, watcher: BaseProcess) -> None:
        """Kills one that lives but no longer shows it. Another one is started then."""
        is_overdue = watcher.is_alive() and time.monotonic() > self.due.value
        self._overdue_looks = self._overdue_looks + 1 if is_overdue else 0
        if self.has_shown_itself:
            self._boot_within = BOOT_WITHIN
        if self._overdue_looks >= OVERDUE_LOOKS:
            self._report_end(watcher)
            watcher.kill()  # SIGTERM does not reach a stopped process
            watcher.join(KILLED_WITHIN)  # the next check finds a process that the kernel still holds
            self._overdue_looks = 0

    def _report_end(self, watcher: BaseProcess) -> None:
        if self.has_shown_itself:
            logger.error("The watcher, process %s, is alive but no longer works. It is killed.", watcher.pid)
            return
        began_within, self._boot_within = self._boot_within, min(2 * self._boot_within, LONGEST_BOOT)
        logger.error(
            "The watcher, process %s, did not begin to work within %.0f s. It is killed, and the next one has %.0f s.",
            watcher.pid,
            began_within,
            self._boot_within,
        )
