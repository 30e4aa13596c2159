"""Has the watcher look at an agent as soon as it prints a report, in one thread that follows all of their logs.

Without it a report that is no health check's is seen when the next health check says the same, half a minute later.
"""

import logging
import time
from collections.abc import Callable, Mapping

from containers.errors import EngineError
from containers.get_engine import get_engine
from projects.watcher.pulse import STEP, Pulse
from projects.watcher.threads import LastingThread

log = logging.getLogger(__name__)

WAIT = 1.0
"""Seconds after which the thread looks whether it is to end, or to follow others."""

EACH_EVERY = 1.0
"""Seconds between two looks at one agent, however often it reports."""


class Reports(LastingThread):
    """`look_at` gets the keys of agents that have reported something."""

    def __init__(self, look_at: Callable[[str], None], pulse: Pulse | None = None) -> None:
        self._beat = (pulse or Pulse()).thread("reports of agents")
        super().__init__(name="reports", end_within=2 * WAIT, beat=self._beat)
        self._look_at = look_at
        self._running: Mapping[str, str] = {}
        self._looked_at: dict[str, float] = {}
        self._late: set[str] = set()

    def follow(self, running: Mapping[str, str]) -> None:
        """The keys of all agents that run, by the ids of their containers."""
        self._running = running

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._beat.expect(STEP)
            try:
                self._listen()
            except EngineError:
                self._stopped.wait(WAIT)
            except Exception:
                log.exception("The reports of agents cannot be followed; it is tried again.")
                self._stopped.wait(WAIT)

    def _listen(self) -> None:
        streams = get_engine().report_streams()
        try:
            while not self._stopped.is_set():
                self._beat.expect(STEP)
                streams.follow(self._running)
                self._tell(streams.wait(WAIT))
        finally:
            streams.close()

    def _tell(self, reported: set[str]) -> None:
        """A look that comes too early is made up for: what an agent reports last is what counts."""
        now = time.monotonic()
        self._looked_at = {key: at for key, at in self._looked_at.items() if now - at < EACH_EVERY}
        due = {key for key in reported | self._late if key not in self._looked_at}
        self._late = (reported | self._late) - due
        for key in due:
            self._looked_at[key] = now
            self._look_at(key)
