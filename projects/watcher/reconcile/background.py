"""Runs repairs in threads, so that no round waits for an agent that does not stop, and many agents start at once."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import connection

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

STARTS = frozenset({Remedy.BRING_BACK, Remedy.RECREATE, Remedy.REALIGN, Remedy.UPDATE})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
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
        self._pool = ThreadPoolExecutor(min(THREADS, settings.BERTH_THREADS), "repair")
        self._starts = Places(total=STARTS_PER_OWNER + RESERVE, each=STARTS_PER_OWNER, reserve=RESERVE)
        self._stops = Places(total=STARTS_PER_OWNER, each=PER_OWNER, reserve=PER_OWNER)
        self._waiting: dict[UUID, _Job] = {}
        self._busy: set[UUID] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def hand_over(self, project: Project, repair: Repair) -> None:
        """Runs the repair in a thread as soon as there is a place. It replaces a waiting repair of the project."""
        places = self._starts if repair.decision.remedy in STARTS else self._stops
        with self._lock:
            if project.pk not in self._busy:
                self._waiting[project.pk] = _Job(owner=project.owner_id.hex, places=places, repair=repair)
        self._begin_more()

    def waiting(self) -> set[UUID]:
        """Returns the projects whose repairs wait for a place."""
        with self._lock:
            return set(self._waiting)

    def stop(self) -> None:
        """Drops waiting repairs and waits for those under way."""
        with self._lock:
            self._stopped = True
            self._waiting.clear()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _begin_more(self) -> None:
        with self._lock:
            if self._stopped:
                return
            for project_id, job in list(self._waiting.items()):
                if job.places.try_take(job.owner):
                    del self._waiting[project_id]
                    self._busy.add(project_id)
                    self._pool.submit(partial(self._do, project_id, job))

    def _do(self, project_id: UUID, job: _Job) -> None:
        try:
            with self._pulse.work(within=REPAIR):
                if not self._is_over():
                    job.repair()
        except Exception:
            log.exception("A repair failed; a later round tries again.")
        finally:
            connection.close()
            with self._lock:
                self._busy.discard(project_id)
                job.places.give_back(job.owner)
            self._begin_more()
