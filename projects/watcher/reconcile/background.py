"""Runs repairs in threads, so that no round waits for an agent that does not stop, and many agents start at once."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import connection

from containers.processes.side_work import begin_in_time
from projects.models import Project
from projects.rules.status.remedies import Remedy
from projects.services.bulkheads import Places
from projects.watcher.heartbeat import REPAIR, Pulse
from projects.watcher.reconcile.project import Repair

log = logging.getLogger(__name__)

THREADS = 12
PER_OWNER = 2
"""How many agents of one owner are stopped at a time. One that does not end takes as long as its type allows."""

STARTS_PER_OWNER = 8
"""How many agents of one owner are started at a time: about as many as keep an engine busy."""

RESERVE = 2
"""The number of places of each kind that are reserved for other owners."""

BEGINS_WITHIN = 0.5
"""Seconds for a thread to begin. If memory is exhausted, it never does."""

AGAIN = 2.0
"""Seconds without repairs after a thread that did not begin, so that no round waits for one thread after another."""

STARTS = frozenset({Remedy.BRING_BACK, Remedy.RECREATE, Remedy.REALIGN, Remedy.UPDATE})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    project_id: UUID
    owner: str
    places: Places
    repair: Repair


class Background:
    """Runs repairs as soon as they have a place. The queue is only in memory, because rounds find the work again."""

    def __init__(self, pulse: Pulse | None = None, is_over: Callable[[], bool] = lambda: False) -> None:
        """`is_over` says that another watcher leads now, which waiting repairs are left to."""
        self._is_over = is_over
        self._pulse = pulse or Pulse()
        # Each thread needs a database connection, and there are not many more of these than threads of the server.
        self._most = min(THREADS, settings.BERTH_THREADS)
        self._starts = Places(total=STARTS_PER_OWNER + RESERVE, each=STARTS_PER_OWNER, reserve=RESERVE)
        self._stops = Places(total=STARTS_PER_OWNER, each=PER_OWNER, reserve=PER_OWNER)
        self._waiting: dict[UUID, _Job] = {}
        self._busy: set[UUID] = set()
        self._lock = threading.Lock()
        self._has_ended = threading.Condition(self._lock)
        self._stopped, self._again_at = False, 0.0

    def hand_over(self, project: Project, repair: Repair) -> None:
        """Runs the repair in a thread as soon as there is a place. It replaces a waiting repair of the project.

        Drops it, and all that wait, if no thread begins: a later round hands them over again.
        """
        places = self._starts if repair.decision.remedy in STARTS else self._stops
        job = _Job(project_id=project.pk, owner=project.owner_id.hex, places=places, repair=repair)
        with self._lock:
            if project.pk not in self._busy and time.monotonic() >= self._again_at:
                self._waiting[project.pk] = job
        while (begun := self._take_next()) is not None:
            if not begin_in_time(partial(self._work_off, begun), BEGINS_WITHIN):
                self._drop(begun)

    def waiting(self) -> set[UUID]:
        """Returns the projects whose repairs wait for a place."""
        with self._lock:
            return set(self._waiting)

    def stop(self) -> None:
        """Drops waiting repairs and waits for those under way."""
        with self._lock:
            self._stopped = True
            self._waiting.clear()
            self._has_ended.wait_for(lambda: not self._busy)

    def _take_next(self) -> _Job | None:
        """Returns the first waiting repair for which there are a thread and a place, and takes both."""
        with self._lock:
            if self._stopped or len(self._busy) >= self._most:
                return None
            for project_id, job in self._waiting.items():
                if job.places.try_take(job.owner):
                    self._busy.add(project_id)
                    return self._waiting.pop(project_id)
            return None

    def _work_off(self, job: _Job | None) -> None:
        while job is not None:
            try:
                self._do(job)
            finally:
                self._give_back(job)
            job = self._take_next()

    def _do(self, job: _Job) -> None:
        try:
            with self._pulse.work(within=REPAIR):
                if not self._is_over():
                    job.repair()
        except Exception:
            log.exception("A repair failed; a later round tries again.")
        finally:
            connection.close()

    def _give_back(self, job: _Job) -> None:
        with self._lock:
            self._busy.discard(job.project_id)
            job.places.give_back(job.owner)
            self._has_ended.notify_all()

    def _drop(self, job: _Job) -> None:
        log.warning("No thread begins for repairs; a later round tries again.")
        with self._lock:
            self._again_at = time.monotonic() + AGAIN
            self._waiting.clear()
        self._give_back(job)
