"""Records agents' reports, in a thread of its own alongside the rounds.

If many agents end at once, the engine takes seconds for its list, for which a round waits. Reports of other agents are
recorded without it, because the engine answers quickly about a container with which it is not busy.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.heartbeat import IDLE, STEP, Pulse
from projects.watcher.reconcile.changed_keys import ChangedKeys
from projects.watcher.reconcile.inspection import AT_ONCE, inspect
from projects.watcher.reconcile.repeated_inspections import Answer, RepeatedInspections
from projects.watcher.threads import LastingThread

log = logging.getLogger(__name__)

WAIT = 1.0
"""Seconds after which the thread checks whether it must end."""

WITHIN = 0.5
"""Seconds for the engine to answer about one container. If it takes longer, it is busy with that container."""

ALL_WITHIN = 10.0
"""Seconds for questions that other threads have begun. A thread without memory never gets an answer."""

MOST = 200
"""The most agents in one step. Further ones are left to the next round, which asks the engine for a list."""


class ReportInspections(LastingThread):
    """The thread that records reports of agents that keep running, while `leads` is true.

    It passes the keys of all other agents to `leave`, for the rounds.
    """

    def __init__(
        self, leads: Callable[[], bool], ends: RunEnds, leave: Callable[..., None], pulse: Pulse | None = None
    ) -> None:
        self._beat = (pulse or Pulse()).thread("looks at reports")
        super().__init__(name="looks at reports", end_within=2 * WAIT, beat=self._beat)
        self._leads, self._ends, self._leave = leads, ends, leave
        self._reported = ChangedKeys()
        self._repeats = RepeatedInspections(self._reported.wake.set)
        self._places = BoundedSemaphore(AT_ONCE)
        self._running: Mapping[str, str] = {}

    def follow(self, running: Mapping[str, str]) -> None:
        """Sets the keys of all running agents, by container id."""
        count = Counter(running.values())
        self._running = {key: container_id for container_id, key in running.items() if count[key] == 1}

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
            if not (self._reported.wake.wait(WAIT) or self._repeats) or self._stopped.is_set():
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
        """Inspects all agents that have reported, and begins to ask again about those without an answer."""
        with self._reported.taking() as (keys, _):
            ended = keys & self._ends.keys_of_ended()
        self._leave(*ended)
        left = keys - ended
        prompt = sorted(left)[:MOST]
        try:
            for first in range(0, len(prompt), AT_ONCE):
                left -= self._take_over(prompt[first : first + AT_ONCE])
            self._repeat()
        except DatabaseError:  # the rounds log it
            log.info("The reports of %d agents are left to the next round.", len(left))
        finally:
            self._leave(*left)

    def _take_over(self, keys: Sequence[str]) -> set[str]:
        """Inspects the agents and records what changed. Returns the keys that are done.

        Leaves out those that have ended meanwhile, because they would delay the others.
        """
        ended = self._ends.keys_of_ended()
        running = [key for key in keys if key not in ended]
        if not running or not self._leads():
            return set()
        self._beat.expect(STEP)
        at = clock.now()
        unanswered: set[str] = set()
        look = partial(_look, running=self._running, unanswered=unanswered)
        answers = do_side_by_side(look, running, places=self._places, most=AT_ONCE - 1, within=ALL_WITHIN)
        self._repeats.add(unanswered)
        return self._record({key: Answer(seen=seen, at=at) for key, seen in zip(running, answers, strict=True)})

    def _repeat(self) -> None:
        """Records the answers that have come late, and asks again about others. No report waits for that.

        A round asks about them, too, because it may be quicker.
        """
        self._repeats.forget(self._ends.keys_of_ended())
        answers = self._repeats.take_answers()
        if (answers or self._repeats) and not self._leads():
            self._repeats.clear()
            return
        self._leave(*(answers.keys() - self._record(answers)))
        self._repeats.begin_more()

    def _record(self, answers: Mapping[str, Answer]) -> set[str]:
        """Records what changed. Returns the keys that are done."""
        done: set[str] = set()
        if not answers:
            return done
        rows = Project.objects.filter(pk__in=map(as_uuid, answers), instance=settings.BERTH_INSTANCE)
        for project in rows.select_related("owner"):
            self._beat.expect(STEP)
            found = answers[project.container_key]
            if found.seen is None or project.operation or not _is_same_run(project, found.seen):
                continue
            if not differs(project, found.seen) or record_observation(project, found.seen, at=found.at):
                done.add(project.container_key)
        return done


def _look(key: str, *, running: Mapping[str, str], unanswered: set[str]) -> Observation | None:
    """Inspects a container. Also returns None if the engine, or the log with the report, does not answer in time."""
    try:
        seen = inspect(key, of=running.get(key, ""), within=WITHIN)
    except EngineError:
        seen = None
        unanswered.add(key)
    if seen and seen.has_slow_log:
        unanswered.add(key)
    return None if key in unanswered else seen


def _is_same_run(project: Project, seen: Observation) -> bool:
    """Returns whether this is still the run that the row knows."""
    is_known = (seen.container_id, seen.restart_count) == (project.container_id, project.restarts)
    return is_known and seen.state == project.container_state and not seen.has_drifted
