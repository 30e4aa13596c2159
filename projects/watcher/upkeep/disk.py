"""Measures agents' memories, in a thread of its own, because that takes longer than a round may, and may hang."""

import logging
from collections.abc import Callable

from django.db import DatabaseError, close_old_connections, connections

from accounts.text import join_first
from containers.errors import EngineError
from containers.get_engine import get_engine
from projects.models.installation import read_hold
from projects.services.limits.disk import find_due, note_disk_use
from projects.watcher.threads import LastingThread

log = logging.getLogger(__name__)

FIRST, EVERY = 60.0, 120.0
"""Seconds until the first measurement, and from the end of one to the next."""

END_WITHIN = 2.0
"""Seconds that a measurement under way gets when the watcher ends. It can be abandoned safely."""


_NAMED = 5
"""The maximum number of projects that one log line names."""


class Disks(LastingThread):
    """The thread that measures while `leads` is true. It passes keys of agents that must stop to `look_soon_at`."""

    def __init__(self, leads: Callable[[], bool], look_soon_at: Callable[[str], None]) -> None:
        super().__init__(name="disks", end_within=END_WITHIN)
        self._leads = leads
        self._look_soon_at = look_soon_at
        self._trouble = ""
        self._missed: set[str] = set()

    def _run(self) -> None:
        pause = FIRST
        while not self._stopped.wait(pause):
            pause = EVERY
            trouble = self._try()
            if trouble and trouble != self._trouble:
                log.warning("Agents' memories cannot be measured: %s", trouble)
            self._trouble = trouble

    def _try(self) -> str:
        """Measures once. Returns what went wrong, or an empty text."""
        try:
            close_old_connections()
            if self._leads() and not read_hold():
                return self._measure()
        except EngineError as error:
            return str(error)
        except DatabaseError as error:
            return type(error).__name__
        except Exception:
            log.exception("The measurement of agents' memories failed; the next one tries again.")
        finally:
            connections.close_all()
        return ""

    def _measure(self) -> str:
        missed = measure_disks(is_stopped=self._stopped.is_set, look_soon_at=self._look_soon_at)
        again, self._missed = missed & self._missed, missed
        return describe_missed(again)


def measure_disks(
    *, is_stopped: Callable[[], bool] = lambda: False, look_soon_at: Callable[[str], None] = lambda _: None
) -> set[str]:
    """Measures memories that may have changed. Raises `EngineError` after recording the results so far.

    Returns the ids of projects whose memory could not be counted completely and is not known to be full.
    """
    due = {project.container_key: project for project in find_due()}
    most = {key: project.disk_share.max_files for key, project in due.items()}
    images = sorted({project.agent_type.image for project in due.values()})
    missed = {key: str(project.pk) for key, project in due.items()}
    for key, use in get_engine().measure_disks(most, images=images):
        if note_disk_use(due[key], use):
            look_soon_at(key)
        if is_stopped():
            return set()
        if not use.is_part or due[key].disk_share.is_full:
            del missed[key]
    return set(missed.values())


def describe_missed(projects: set[str]) -> str:
    """Describes projects that were missed twice. Once is harmless, because a removal also interrupts measurements."""
    if not projects:
        return ""
    named = join_first(sorted(projects), most=_NAMED)
    return f"their limit does not hold for {named}: counting takes longer than its time, or the disk hangs."
