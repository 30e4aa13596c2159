"""Takes the lead from a watcher that does not see the engine, if this one does.

Each machine may have an engine of its own to ask, such as the managers of a Swarm, and that of the leader may be the
one that fails. A leader that works writes a heartbeat after each round.
"""

import logging
import time
from datetime import datetime

from django.conf import settings

from containers.errors import EngineError
from containers.get_engine import get_engine
from containers.vocabulary import INSTANCE_LABEL
from projects.models import Watch
from projects.watcher.heartbeat import STEP, Pulse
from projects.watcher.leader import Leadership, become_leader, displace

log = logging.getLogger(__name__)

BLIND_FOR, ASK_EVERY = 60.0, 10.0
"""Seconds without a heartbeat after which a leader counts as blind, and between two attempts to see more than it."""

_PATIENCE = 3.0
"""How many times longer than our own list the leader may need for its round, in addition."""


class Succession:
    def __init__(self, holder: str, leadership: Leadership, pulse: Pulse) -> None:
        self._holder, self._leadership, self._pulse = holder, leadership, pulse
        self._seen: tuple[str, datetime | None] | None = None  # the leader's machine, whose watcher may be replaced
        self._since = self._again_at = 0.0

    def step(self) -> bool:
        """Call this while another watcher leads. Returns whether this one leads now."""
        row = Watch.objects.filter(instance=settings.BERTH_INSTANCE).values_list("holder", "heartbeat_at").first()
        now, seen = time.monotonic(), row and (row[0].partition(" ")[0], row[1])
        if seen != self._seen:
            self._seen, self._since = seen, now
        if row is None or now - self._since < BLIND_FOR or now < self._again_at:
            return False
        self._again_at = now + ASK_EVERY
        if not self._sees():
            return False
        ended = time.monotonic()
        if ended - self._since < BLIND_FOR + _PATIENCE * (ended - now) or not displace(*row, by=self._holder):
            return False
        log.warning("The leader has seen nothing for %.0f seconds. This watcher sees the engine and leads.", BLIND_FOR)
        return self._leadership.take(become_leader)

    def _sees(self) -> bool:
        self._pulse.expect(STEP)
        try:
            get_engine().observe({INSTANCE_LABEL: settings.BERTH_INSTANCE})
        except EngineError:
            return False
        return True
