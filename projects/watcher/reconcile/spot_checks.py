"""Inspects single containers that the engine's list calls healthy, a few every second, in a thread of its own.

An engine lists a container as it last saved it. While its disk is full it saves nothing, and when there is room again
it saves only new changes: if an agent ended without an event, the list may say forever that it runs. An inspection
shows the truth. While it contradicts the list, rounds inspect that container.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from containers.engine.lists import is_as_listed
from containers.errors import ContainerSilentError, EngineError
from containers.get_engine import get_engine
from containers.vocabulary import EngineEvent, Observation
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.heartbeat import STEP, Pulse
from projects.watcher.threads import LastingThread

log = logging.getLogger(__name__)

EVERY = 1.0
"""Seconds between two steps. Containers in doubt are inspected in each step."""

ALL_WITHIN = 60.0
"""Seconds within which each container is inspected, and so the longest time for which a wrong list is believed."""

AFTER_EVENT = 3.0
"""Seconds after an event about a container. By then the list and inspections should reflect it."""

AT_ONCE = 50
"""The maximum number of containers in one step. Together they take some hundredths of a second."""

WITHIN = 1.5
"""Seconds for the engine to answer about one container."""

MOST_SILENT = 3
"""How many unanswered inspections end a step. The other containers have their turn in the next one."""


class SpotChecks(LastingThread):
    """The thread that inspects containers. It passes keys of wrongly listed ones to `look_at`. Thread-safe.

    `ends` are corrected if an event has said that a container ended which is up.
    """

    def __init__(self, look_at: Callable[[str], None], pulse: Pulse | None = None, ends: RunEnds | None = None) -> None:
        self._beat = (pulse or Pulse()).thread("second looks")
        super().__init__(name="second looks", end_within=2 * WITHIN, beat=self._beat)
        self._look_at, self._ends = look_at, ends or RunEnds()
        self._listed: dict[str, Observation] = {}
        self._due: dict[str, float] = {}
        self._found: dict[str, Observation | None] = {}
        self._lock = threading.Lock()

    def correct(self, observed: Iterable[Observation]) -> list[Observation]:
        """Returns the list with known errors corrected, and from now on inspects the containers that it calls healthy.

        A wrongly listed container gets its known state, which makes rounds inspect it; a container that is gone is left
        out.
        """
        seen = list(observed)
        now = time.monotonic()
        with self._lock:
            self._listed = {each.container_id: each for each in seen if each.is_brief and each.is_complete}
            self._due = {each: self._due.get(each, now) for each in self._listed}
            self._found = {each: found for each, found in self._found.items() if each in self._listed}
            if not self._found:
                return seen
            return [corrected for each in seen if (corrected := self._correct(each)) is not None]

    def _correct(self, listed: Observation) -> Observation | None:
        if listed.container_id not in self._found:
            return listed
        found = self._found[listed.container_id]
        return found and replace(listed, state=found.state, health=found.health, has_drifted=found.has_drifted)

    def hear(self, event: EngineEvent) -> None:
        """Schedules an early inspection after an event."""
        self._advance([event.container_id], AFTER_EVENT)

    def doubt_all(self) -> None:
        """Schedules all containers, because events may have been missed or the engine had trouble."""
        with self._lock:
            ids = list(self._due)
        self._advance(ids, 0.0)

    def _advance(self, ids: Iterable[str], seconds: float) -> None:
        at = time.monotonic() + seconds
        with self._lock:
            for each in ids:
                if self._due.get(each, 0.0) > at:
                    self._due[each] = at

    def _run(self) -> None:
        while not self._stopped.wait(EVERY):
            self._beat.expect(STEP)
            try:
                self.step()
            except Exception:
                log.exception("The second inspection of containers failed; the next one tries again.")

    def step(self) -> None:
        """Inspects the containers that are due, one after the other."""
        now = time.monotonic()
        with self._lock:
            due = sorted((each for each, at in self._due.items() if at <= now), key=self._due.__getitem__)
            listed = {each: self._listed[each] for each in due[:AT_ONCE]}
        silent = 0
        for container_id, seen in listed.items():
            if self._stopped.is_set() or silent == MOST_SILENT:
                return
            self._beat.expect(STEP)
            asked = time.monotonic()
            try:
                with get_engine().deadline(WITHIN):
                    found = get_engine().look_up(container_id)
            except ContainerSilentError:
                silent += 1
                self._plan(container_id, AFTER_EVENT)
            except EngineError:
                return  # it does not answer at all, so all stay due
            else:
                self._compare(seen, found)
                if found and found.is_up and self._ends.refute(container_id, before=asked - AFTER_EVENT):
                    self._look_at(seen.key)

    def _compare(self, listed: Observation, found: Observation | None) -> None:
        container_id = listed.container_id
        is_same = found is not None and is_as_listed(found, listed)
        with self._lock:
            was_known = container_id in self._found
            if is_same:
                self._found.pop(container_id, None)
            elif container_id in self._listed:
                self._found[container_id] = found
        self._plan(container_id, _until_next(container_id) if is_same else EVERY)
        if not is_same and not was_known:
            log.info("%s differs from the engine's list, and is inspected until it does not.", listed.name)
            self._look_at(listed.key)

    def _plan(self, container_id: str, seconds: float) -> None:
        with self._lock:
            if container_id in self._due:
                self._due[container_id] = time.monotonic() + seconds


def _until_next(container_id: str) -> float:
    """Returns seconds that differ for each container, so that not all are due at the same time again."""
    return ALL_WITHIN * (0.5 + int(container_id[:4], 16) / 0x20000)


Correct = Callable[[Iterable[Observation]], list[Observation]]
"""Corrects what an engine lists. `list` itself changes nothing."""
