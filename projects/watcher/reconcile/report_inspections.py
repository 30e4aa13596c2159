"""Records agents' reports, in a thread of its own alongside the rounds.

If many agents end at once, the engine takes seconds for its list, for which a round waits. Reports of other agents are
recorded without it, because the engine answers quickly about a container with which it is not busy.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from threading import BoundedSemaphore

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections

from accounts import clock
from containers.errors import EngineError
from containers.processes.side_work import do_side_by_side
from containers.vocabulary import Observation
from projects.models import Project
from projects.services.inventory.quarantine import as_uuid
from projects.watcher.ends.observation import differs, record_observation
from projects.watcher.ends.run_ends import Ends
from projects.watcher.heartbeat import IDLE, STEP, Pulse
from projects.watcher.reconcile.changed_keys import ChangedKeys
from projects.watcher.reconcile.inspection import AT_ONCE, inspect
from projects.watcher.threads import LastingThread

log = logging.getLogger(__name__)

WAIT = 1.0
"""Seconds after which the thread checks whether it must end."""

WITHIN = 0.5
"""Seconds for the engine to answer about one container. If it takes longer, it is busy with that container."""

LATER_WITHIN = 1.5
"""Seconds for later attempts after the engine did not answer in time."""

MOST_TRIES = 30
"""The maximum of attempts for one container, about one a second. A round may take most of a minute."""

ALL_WITHIN = 10.0
"""Seconds for questions that other threads have begun. A thread without memory never gets an answer."""

MOST = 200
"""The maximum of agents in one step. Further ones are left to the next round, which asks the engine for a list."""


class ReportInspections(LastingThread):
    """The thread that records reports of agents that keep running, while `leads` is true.

    It passes the keys of all other agents to `leave`, for the rounds.
    """

    def __init__(
        self, leads: Callable[[], bool], ends: Ends, leave: Callable[..., None], pulse: Pulse | None = None
    ) -> None:
        self._beat = (pulse or Pulse()).thread("looks at reports")
        super().__init__(name="looks at reports", end_within=2 * WAIT, beat=self._beat)
        self._leads, self._ends, self._leave = leads, ends, leave
        self._reported = ChangedKeys()
        self._late: dict[str, int] = {}
        self._places = BoundedSemaphore(AT_ONCE)

    def look_at(self, key: str) -> None:
        """Schedules an inspection. Returns at once."""
        self._reported.add(key)

    def stop(self) -> None:
        self._stopped.set()
        self._reported.wake.set()
        super().stop()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._beat.expect(IDLE)
            if not (self._reported.wake.wait(WAIT) or self._late) or self._stopped.is_set():
                continue
            self._reported.wake.clear()
            self._beat.expect(STEP)
            try:
                close_old_connections()
                self.step()
            except Exception:
                log.exception("Recording agents' reports failed; the next attempt continues.")
            finally:
                connections.close_all()

    def step(self) -> None:
        """Inspects all agents that have reported, and again some about which the engine did not answer."""
        with self._reported.taking() as keys:
            known = self._ends.keys_of_ended()
            ended = keys & known
        self._leave(*ended)
        left = keys - ended
        self._late = {key: tries for key, tries in self._late.items() if key not in known and tries < MOST_TRIES}
        again = sorted(self._late.keys() - left, key=self._late.__getitem__)[:AT_ONCE]  # they are also left to a round
        prompt = sorted(left)[:MOST] + again
        try:
            for first in range(0, len(prompt), AT_ONCE):
                asked = prompt[first : first + AT_ONCE]
                done = set(self._take_over(asked))
                left = (left - done) | (set(asked) - done - self._late.keys())
        except DatabaseError:  # the rounds log it
            log.info("The reports of %d agents are left to the next round.", len(left))
        finally:
            self._leave(*left)

    def _take_over(self, keys: Sequence[str]) -> Iterator[str]:
        """Inspects the agents and records what changed. Yields the keys that are done."""
        if not keys or not self._leads():
            self._late.clear()
            return
        self._beat.expect(STEP)
        at = clock.now()
        unanswered: set[str] = set()
        look = partial(_look, tried=dict(self._late), unanswered=unanswered)
        answers = do_side_by_side(look, keys, places=self._places, most=AT_ONCE - 1, within=ALL_WITHIN)
        seen = dict(zip(keys, answers, strict=True))
        tried = {key: self._late.pop(key, 0) for key in keys}
        self._late |= {key: tried[key] + 1 for key in unanswered}
        rows = Project.objects.filter(pk__in=map(as_uuid, keys), instance=settings.BERTH_INSTANCE)
        for project in rows.select_related("owner"):
            self._beat.expect(STEP)
            found = seen[project.container_key]
            if found is None or project.operation or not _is_same_run(project, found):
                continue
            if not differs(project, found) or record_observation(project, found, at=at):
                yield project.container_key


def _look(key: str, *, tried: Collection[str], unanswered: set[str]) -> Observation | None:
    """Inspects a container. Returns None also if the engine does not answer in time, which is longer if `tried`."""
    try:
        return inspect(key, within=LATER_WITHIN if key in tried else WITHIN)
    except EngineError:
        unanswered.add(key)
        return None


def _is_same_run(project: Project, seen: Observation) -> bool:
    """Returns whether this is still the run that the row knows."""
    is_known = (seen.container_id, seen.restart_count) == (project.container_id, project.restarts)
    return is_known and seen.state == project.container_state and not seen.has_drifted
