"""The watcher's loop: wait for news from the engine or two seconds, look at everything, beat.

Events only make it prompt. That the rows are right rests on the list, which is asked for every time: an event that
never came, or came too early, costs at most two seconds.
"""

import logging
import os
import socket
import threading
import time

from django.conf import settings
from django.db import DatabaseError, close_old_connections

from containers.engine import INSTANCE_LABEL, EngineError
from containers.get_engine import get_engine
from projects.watcher.leader import beat, hold_lease, release_lease
from projects.watcher.reconcile import reconcile

log = logging.getLogger(__name__)

LOOK_EVERY = 2.0
SECURE_EVERY = SWEEP_EVERY = 30.0
SETTLE = 0.05
"""Seconds that events are gathered before a look: a death is three events in a row."""


class Watcher:
    """`stop()` may be called from a signal handler or another thread."""

    def __init__(self) -> None:
        self.name = f"{socket.gethostname()[:40]}-{os.getpid()}"
        self._news = threading.Event()
        self._stopped = threading.Event()
        self._suspects: set[str] = set()
        self._secure_again_at = self._sweep_again_at = 0.0
        self._insecurity: str | None = None

    def stop(self) -> None:
        self._stopped.set()
        self._news.set()

    def run(self) -> None:
        listener = threading.Thread(target=self._listen, name="events", daemon=True)
        listener.start()
        failing = False
        while not self._stopped.is_set():
            try:
                self._look()
                failing = False
            except (EngineError, DatabaseError) as error:
                if not failing:
                    log.warning("The watcher sees nothing: %s", error)
                failing = True
            except Exception:
                log.exception("The watcher's round broke; the next one tries again.")
            self._news.wait(LOOK_EVERY)
            self._stopped.wait(SETTLE)
            self._news.clear()
        release_lease(self.name)

    def _look(self) -> None:
        close_old_connections()
        if not hold_lease(self.name):
            return
        self._secure()
        suspects, self._suspects = self._suspects, set()
        sweep = time.monotonic() >= self._sweep_again_at
        try:
            result = reconcile(suspects=suspects, sweep=sweep)
        except EngineError:
            self._suspects |= suspects
            raise
        if sweep:
            self._sweep_again_at = time.monotonic() + SWEEP_EVERY
        beat(self.name, result.at)

    def _secure(self) -> None:
        """Firewall rules are lost at a reboot or to somebody's flush; what cannot be set is said once."""
        if time.monotonic() < self._secure_again_at:
            return
        self._secure_again_at = time.monotonic() + SECURE_EVERY
        said, self._insecurity = self._insecurity, get_engine().secure()
        if self._insecurity and self._insecurity != said:
            log.warning("%s", self._insecurity)

    def _listen(self) -> None:
        within = {INSTANCE_LABEL: settings.BERTH_INSTANCE}
        while not self._stopped.is_set():
            try:
                for event in get_engine().events(within, timeout=30):
                    self._suspects.add(event.name)
                    self._news.set()
                    if self._stopped.is_set():
                        return
            except EngineError:
                self._stopped.wait(LOOK_EVERY)
