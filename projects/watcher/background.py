"""Threads for repairs, so that no round waits for an agent that does not stop."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import UUID

from django.db import connection

from projects.models import Project
from projects.services.places import Places
from projects.watcher.pulse import REPAIR, Pulse

log = logging.getLogger(__name__)

THREADS = 8
PER_OWNER = 2
"""Repairs of one owner's projects at a time. More only wait longer: the next rounds come back to them."""


class Background:
    """Used by one thread, the watcher's."""

    def __init__(self, pulse: Pulse | None = None) -> None:
        self._pulse = pulse or Pulse()
        self._pool = ThreadPoolExecutor(THREADS, "repair")
        self._places = Places(total=THREADS, each=PER_OWNER, reserve=PER_OWNER)
        self._busy: set[UUID] = set()
        self._lock = threading.Lock()

    def hand_over(self, project: Project, act: Callable[[], object]) -> None:
        """Does this in a thread, unless the project is being repaired or its owner has no place left."""
        owner = project.owner_id.hex
        with self._lock:
            if project.pk in self._busy or not self._places.try_take(owner):
                return
            self._busy.add(project.pk)
        self._pool.submit(partial(self._do, project.pk, owner, act))

    def stop(self) -> None:
        """Waits for the repairs under way."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _do(self, project_id: UUID, owner: str, act: Callable[[], object]) -> None:
        try:
            with self._pulse.work(within=REPAIR):
                act()
        except Exception:
            log.exception("A repair broke; a later round tries again.")
        finally:
            connection.close()
            with self._lock:
                self._busy.discard(project_id)
                self._places.give_back(owner)
