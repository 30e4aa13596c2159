"""Renews the leader's lease during a long round, in a thread of its own.

A round asks the engine for its list, which may take longer than a lease lasts. Without this thread, two watchers that
both need so long would take the lease from each other, and neither would ever finish a round.
"""

import logging

from django.db import DatabaseError, close_old_connections, connections

from projects.watcher.heartbeat import Pulse
from projects.watcher.leader import Leadership
from projects.watcher.threads import LastingThread

log = logging.getLogger(__name__)

EVERY = 2.0
"""Seconds between two checks whether the lease must be renewed."""


class LeaseRenewal(LastingThread):
    """Renews nothing while a part of the watcher hangs, so that another watcher takes over."""

    def __init__(self, leadership: Leadership, pulse: Pulse | None = None) -> None:
        super().__init__(name="lease")
        self._leadership, self._pulse = leadership, pulse or Pulse()

    def _run(self) -> None:
        while not self._stopped.wait(EVERY):
            try:
                self.step()
            except DatabaseError as error:
                log.info("The lease could not be renewed during a round: %s", error)
            except Exception:
                log.exception("Renewing the lease failed; the next attempt is in %.0f seconds.", EVERY)

    def step(self) -> None:
        if not self._leadership.is_due or self._pulse.overdue():
            return
        try:
            close_old_connections()
            self._leadership.renew()
        finally:
            connections.close_all()
