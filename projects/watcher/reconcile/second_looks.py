"""Asks the engine again about single containers that its list calls well, a few every second, in a thread of its own.

An engine lists a container as it last wrote it down. While its disk is full it writes nothing, and when there is room
again, only of what changes then: of an agent that has ended, and of whose end no event came, the list may go on to say
for ever that it runs. An inspection tells the truth. Where it contradicts the list, rounds inspect that container for
as long as it does.
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
from projects.watcher.pulse import STEP, Pulse
from projects.watcher.threads import LastingThread

log = logging.getLogger(__name__)

EVERY = 1.0
"""Seconds between two looks at some. One in doubt is looked at each time."""

ALL_WITHIN = 60.0
"""Seconds within which each container is looked at, and so the longest for which a list that lies is believed."""

AFTER_EVENT = 3.0
"""Seconds after an event about a container: by then the list should tell what has happened."""

AT_ONCE = 50
"""Containers that are looked at one after the other. They take some hundredths of a second together."""

WITHIN = 1.5
"""Seconds for the engine to answer for one."""

MOST_SILENT = 3
"""So many that do not answer end a look at some. The others have their turn at the next."""


class SecondLooks(LastingThread):
    """`look_at` gets the keys of containers of which the list says too little. Safe between threads."""

    def __init__(self, look_at: Callable[[str], None], pulse: Pulse | None = None) -> None:
        self._beat = (pulse or Pulse()).thread("second looks")
        super().__init__(name="second looks", end_within=2 * WITHIN, beat=self._beat)
        self._look_at = look_at
        self._listed: dict[str, Observation] = {}
        self._due: dict[str, float] = {}
        self._found: dict[str, Observation | None] = {}
        self._lock = threading.Lock()

    def correct(self, observed: Iterable[Observation]) -> list[Observation]:
        """What the list says, but for what is known to be otherwise: that is brief, so that it has to be inspected, and
        what is gone is missing.

        From now on it looks at those that the list calls well, and at no others.
        """
        seen = list(observed)
        now = time.monotonic()
        with self._lock:
            self._listed = {each.container_id: each for each in seen if each.is_brief and each.is_complete}
            self._due = {each: self._due.get(each, now) for each in self._listed}
            self._found = {each: found for each, found in self._found.items() if each in self._listed}
            if not self._found:
                return seen
            return [said for each in seen if (said := self._correct(each)) is not None]

    def _correct(self, listed: Observation) -> Observation | None:
        if listed.container_id not in self._found:
            return listed
        found = self._found[listed.container_id]
        return found and replace(listed, state=found.state, health=found.health, has_drifted=found.has_drifted)

    def hear(self, event: EngineEvent) -> None:
        """Something has happened to a container."""
        self._advance([event.container_id], AFTER_EVENT)

    def doubt_all(self) -> None:
        """Events may have been missed, or the engine was ill: all are looked at again, as fast as may be."""
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
                log.exception("The second look at containers broke; the next one tries again.")

    def step(self) -> None:
        """Looks at those that are due, one after the other."""
        now = time.monotonic()
        with self._lock:
            due = sorted((each for each, at in self._due.items() if at <= now), key=self._due.__getitem__)
            listed = {each: self._listed[each] for each in due[:AT_ONCE]}
        silent = 0
        for container_id, seen in listed.items():
            if self._stopped.is_set() or silent == MOST_SILENT:
                return
            self._beat.expect(STEP)
            try:
                with get_engine().deadline(WITHIN):
                    found = get_engine().look_up(container_id)
            except ContainerSilentError:
                silent += 1
                self._plan(container_id, AFTER_EVENT)
            except EngineError:
                return  # it answers for nobody: all stay due
            else:
                self._compare(seen, found)

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
            log.info("%s is not as the engine's list has it, and is inspected until it is.", listed.name)
            self._look_at(listed.key)

    def _plan(self, container_id: str, seconds: float) -> None:
        with self._lock:
            if container_id in self._due:
                self._due[container_id] = time.monotonic() + seconds


def _until_next(container_id: str) -> float:
    """Seconds, for each container others, so that not all are due at the same time again."""
    return ALL_WITHIN * (0.5 + int(container_id[:4], 16) / 0x20000)


Correct = Callable[[Iterable[Observation]], list[Observation]]
"""Takes what an engine lists, and gives what is to be believed of it. `list` believes all."""
