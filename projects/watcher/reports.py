"""Triggers an inspection as soon as an agent prints a report, in one thread that follows all agents' logs.

Without it, a report would be noticed half a minute later, when the next health check says the same.
"""

import logging
import time
from collections.abc import Callable, Mapping

from containers.errors import EngineError
from containers.get_engine import get_engine
from projects.watcher.heartbeat import STEP, Pulse
from projects.watcher.threads import LastingThread

log = logging.getLogger(__name__)

WAIT = 1.0
"""Seconds after which the thread checks whether it must end or follow other agents."""

EACH_EVERY = 1.0
"""Seconds between two inspections of one agent, no matter how often it reports."""


class Reports(LastingThread):
    """The thread that follows the logs. It passes the keys of agents that have reported to `look_at`."""

    def __init__(self, look_at: Callable[[str], None], pulse: Pulse | None = None) -> None:
        self._beat = (pulse or Pulse()).thread("reports of agents")
        super().__init__(name="reports", end_within=2 * WAIT, beat=self._beat)
        self._look_at = look_at
        self._running: Mapping[str, str] = {}
        self._looked_at: dict[str, float] = {}
        self._late: set[str] = set()

    def follow(self, running: Mapping[str, str]) -> None:
        """Sets the keys of all running agents, by container id."""
        self._running = running

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._beat.expect(STEP)
            try:
                self._listen()
            except EngineError:
                self._stopped.wait(WAIT)
            except Exception:
                log.exception("Agents' reports cannot be followed; it is tried again.")
                self._stopped.wait(WAIT)

    def _listen(self) -> None:
        streams = get_engine().report_streams()
        try:
            while not self._stopped.is_set():
                self._beat.expect(STEP)
                streams.follow(self._running)
                self._trigger(streams.wait(self._until_next()))
        finally:
            streams.close()

    def _until_next(self) -> float:
        """Returns the seconds for which to wait for reports: until it is time for one that came too early."""
        now = time.monotonic()
        waits = [self._looked_at[key] + EACH_EVERY - now for key in self._late & self._looked_at.keys()]
        return min(WAIT, max(0.0, min(waits, default=WAIT)))

    def _trigger(self, reported: set[str]) -> None:
        """Triggers inspections. If it is too early for an agent, does so later, because its last report counts."""
        now = time.monotonic()
        self._looked_at = {key: at for key, at in self._looked_at.items() if now - at < EACH_EVERY}
        due = {key for key in reported | self._late if key not in self._looked_at}
        self._late = (reported | self._late) - due
        for key in due:
            self._looked_at[key] = now
            self._look_at(key)
