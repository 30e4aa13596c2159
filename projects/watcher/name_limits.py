"""Limits agents' look-ups at the engine's name server, in a thread of its own.

A started agent gets its limit just after the engine's start event, or at the next check if the event is missed.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable

from django.db import DatabaseError, close_old_connections, connections

from containers.errors import EngineError
from containers.get_engine import get_engine
from containers.vocabulary import EngineEvent
from projects.watcher.heartbeat import Pulse
from projects.watcher.leader import note_names
from projects.watcher.threads import LastingThread

log = logging.getLogger(__name__)

EVERY = 5.0
"""Seconds between two checks of all running agents."""

AFTER_START = 0.1
"""Seconds from the start of an agent to its limit. The command that starts it needs the processors to record that."""

ENDED_FOR = 10.0
"""Seconds for which an agent that has ended is not asked for, unless it is heard to start. A busy engine lists it as
running for a while."""

STEP = 120.0
"""Seconds for one check, which begins nothing after 30."""

END_WITHIN = 2.0
"""Seconds that a check under way gets when the watcher ends. The next one starts from the beginning."""


class NameLimits(LastingThread):
    """The thread that sets the limits while `leads` is true. Other threads call `follow` and `hear`."""

    def __init__(self, leads: Callable[[], bool], pulse: Pulse | None = None) -> None:
        super().__init__(name="limits of names", end_within=END_WITHIN)
        self._leads = leads
        self._pulse = pulse or Pulse()
        self._running: frozenset[str] = frozenset()
        self._started: set[str] = set()
        self._ended_at: dict[str, float] = {}
        self._warning: str | None = None
        self._waits = False
        self._wake = threading.Event()

    def stop(self) -> None:
        self._stopped.set()
        self._wake.set()
        super().stop()

    def follow(self, running: Iterable[str]) -> None:
        """Sets the ids of the containers of all running agents."""
        self._running = frozenset(running)

    def hear(self, event: EngineEvent) -> None:
        if event.action == "start":
            self._ended_at.pop(event.container_id, None)
            self._started.add(event.container_id)
            self._wake.set()
        elif event.action == "die":
            self._ended_at[event.container_id] = time.monotonic()

    def _run(self) -> None:
        while not self._stopped.is_set():
            if self._wake.wait(EVERY):
                self._stopped.wait(AFTER_START)
            self._wake.clear()
            if self._stopped.is_set():
                return
            started, self._started = self._started, set()
            try:
                with self._pulse.work(within=STEP, name="limits of names"):
                    self._try(self._choose(started))
            except Exception:
                log.exception("The check of the limits on name look-ups failed; the next one tries again.")

    def _choose(self, started: set[str]) -> frozenset[str]:
        """Returns the containers that should have a limit, without those that have just ended."""
        since = time.monotonic() - ENDED_FOR
        for container_id, at in list(self._ended_at.items()):
            if at < since:
                self._ended_at.pop(container_id, None)
        return (self._running | started) - self._ended_at.keys()

    def _try(self, containers: frozenset[str]) -> None:
        try:
            close_old_connections()
            if containers and self._leads():
                self._note(get_engine().limit_names(containers))
            self._waits = False
        except EngineError as error:
            self._tell_once(logging.INFO, "The limits on name look-ups wait for the engine: %s", error)
        except DatabaseError as error:
            told = "The limits on name look-ups could not be checked: %s"
            self._tell_once(logging.WARNING, told, type(error).__name__)
        finally:
            connections.close_all()

    def _tell_once(self, level: int, sentence: str, why: object) -> None:
        """Logs the sentence, until a check succeeds, only once: an engine or a database may be away for days."""
        if not self._waits:
            log.log(level, sentence, why)
        self._waits = True

    def _note(self, warning: str | None) -> None:
        note_names(warning or "")
        if warning and warning != self._warning:
            log.warning(warning)
        self._warning = warning
