"""The watcher's loop: wait for an event of the engine or two seconds, reconcile everything, beat.

The engine's events only make it prompt. The rows are right because of the list, which every round asks for: an event
that never came, or came too early, costs at most two seconds.
"""

import logging
import os
import socket
import threading
import time
from functools import partial

from django.conf import settings
from django.db import close_old_connections
from django.db.utils import Error as DatabaseError

from containers.errors import EngineError
from containers.get_engine import get_engine
from containers.vocabulary import INSTANCE_LABEL
from projects.watcher.background import Background
from projects.watcher.bot_claims import BotClaims
from projects.watcher.ends import Ends
from projects.watcher.leader import beat, become_leader, step_down
from projects.watcher.outbox import Outbox
from projects.watcher.protection import Protection
from projects.watcher.pulse import IDLE, STEP, Pulse
from projects.watcher.reconcile import reconcile
from projects.watcher.reminders import remind
from projects.watcher.reports import Reports
from projects.watcher.retention import Retention

log = logging.getLogger(__name__)

LOOK_EVERY = 2.0
VOLUMES_EVERY = 30.0
SETTLE = 0.05
"""Seconds to gather events before a round: the death of a container is three events in a row."""


class Watcher:
    """`stop()` may be called from a signal handler or another thread."""

    def __init__(self, pulse: Pulse | None = None) -> None:
        """`pulse` tells whoever looks after this process that it lives."""
        self._pulse = pulse or Pulse()
        self.name = f"{socket.gethostname()[:40]}-{os.getpid()}"
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._changed_keys: set[str] = set()
        self._ends = Ends()
        self._volumes_again_at = 0.0
        self._protection = Protection(self._pulse)
        self._retention = Retention()
        self._background = Background(self._pulse)
        self._bot_claims = BotClaims(self._pulse)
        self._outbox = Outbox()
        self._reports = Reports(self._look_soon_at)

    def stop(self) -> None:
        self._stopped.set()
        self._wake.set()

    def run(self) -> None:
        listener = threading.Thread(target=self._listen, name="events", daemon=True)
        listener.start()
        self._outbox.start()
        self._reports.start()
        failing = False
        while not self._stopped.is_set():
            try:
                self._pulse.expect(STEP)
                self._look()
                failing = False
            except (EngineError, DatabaseError) as error:
                if not failing:
                    log.warning("The watcher sees nothing: %s", error)
                failing = True
            except Exception:
                log.exception("The watcher's round broke; the next one tries again.")
            self._pulse.expect(IDLE)
            self._wake.wait(LOOK_EVERY)
            self._stopped.wait(SETTLE)
            self._wake.clear()
        self._pulse.end()  # from now on it is waited for, at most as long as a server gets to end
        self._background.stop()
        self._step_down()
        self._bot_claims.stop()
        self._protection.stop()
        self._outbox.stop()
        self._reports.stop()

    def _step_down(self) -> None:
        try:
            step_down(self.name)
        except DatabaseError as error:
            log.warning("The lease could not be given back, and ends by itself in seconds: %s", error)

    def _look(self) -> None:
        close_old_connections()
        if not become_leader(self.name):
            return
        self._protection.step()
        changed_keys, self._changed_keys = self._changed_keys, set()
        include_volumes = time.monotonic() >= self._volumes_again_at
        try:
            result = reconcile(
                changed_keys=changed_keys,
                barred=self._protection.barred,
                include_volumes=include_volumes,
                hand_over=self._background.hand_over,
                before_each=partial(self._pulse.expect, STEP),
                find_end=self._ends.find,
            )
        except (EngineError, DatabaseError):
            self._changed_keys |= changed_keys
            raise
        if include_volumes:
            self._volumes_again_at = time.monotonic() + VOLUMES_EVERY
        self._pulse.expect(STEP)
        self._reports.follow(result.running)
        if not result.unwritten:
            beat(self.name, result.at)
        if include_volumes:
            remind()
        self._retention.step()
        self._bot_claims.step()

    def _look_soon_at(self, key: str) -> None:
        self._changed_keys.add(key)
        self._wake.set()

    def _listen(self) -> None:
        within = {INSTANCE_LABEL: settings.BERTH_INSTANCE}
        while not self._stopped.is_set():
            try:
                for event in get_engine().events(within, timeout=30):
                    self._ends.note(event)
                    self._look_soon_at(event.key)
                    if self._stopped.is_set():
                        return
            except EngineError:
                self._stopped.wait(LOOK_EVERY)
