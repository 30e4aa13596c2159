"""Measures what agents keep, in a thread of its own: that takes longer than any round may, and may hang."""

import logging
from collections.abc import Callable

from django.db import DatabaseError, close_old_connections, connections

from containers.errors import EngineError
from containers.get_engine import get_engine
from projects.models.installation import read_hold
from projects.services.limits.disk import find_due, note_disk_use
from projects.watcher.threads import LastingThread

log = logging.getLogger(__name__)

FIRST, EVERY = 60.0, 120.0
"""Seconds until the first measurement, and between the end of one and the next."""

END_WITHIN = 2.0
"""Seconds that one under way gets when the watcher ends. It is given up then: nothing depends on its end."""


_NAMED = 5
"""Projects that one line of the log names."""


class Disks(LastingThread):
    """One thread, at work while `leads` says so. `look_soon_at` is told the key of one that may not run any more."""

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
                log.warning("What agents keep cannot be measured: %s", trouble)
            self._trouble = trouble

    def _try(self) -> str:
        """Returns what went wrong; empty where nothing did."""
        try:
            close_old_connections()
            if self._leads() and not read_hold():
                return self._measure()
        except EngineError as error:
            return str(error)
        except DatabaseError as error:
            return type(error).__name__
        except Exception:
            log.exception("The measurement of what agents keep broke; the next one tries again.")
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
    """Measures once what may have changed. Raises `EngineError`, having noted what was known before.

    Returns the ids of the projects whose memory could not be counted to the end, and is not known to be too much.
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
    """Those that were missed twice. Once is nothing: a removal ends the measurement of others as well."""
    if not projects:
        return ""
    named = ", ".join(sorted(projects)[:_NAMED]) + (f" and {more} more" if (more := len(projects) - _NAMED) > 0 else "")
    return f"their limit does not hold for {named}: counting takes longer than its time, or the disk hangs."
