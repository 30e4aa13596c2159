"""Keeps the failure at one project to that project: the round goes on for all others.

Only what concerns all of them ends a round: an engine or a database that does not answer.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, connection

from accounts import clock
from containers.errors import EngineError, EngineUnavailableError
from containers.get_engine import get_engine
from projects.credentials.encryption import SecretUnreadableError
from projects.errors import ProjectError, ProjectGoneError
from projects.models import Project
from projects.models.reconciliation import NO_TROUBLE

log = logging.getLogger(__name__)

PING_SECONDS = 2.0
FORESEEN = (EngineError, ProjectError, SecretUnreadableError)
"""Errors whose message says all. Of any other the log gets the traceback."""


class Confinement:
    """Wraps the work on each project of one round. `failed` gets a line for each failure."""

    def __init__(self, failed: list[str]) -> None:
        self._failed = failed
        self._projects = 0
        self._unanswered: list[tuple[Project, EngineUnavailableError]] = []

    @contextmanager
    def of(self, project: Project) -> Iterator[None]:
        """Notes an error that is raised inside in the row, in the log and in `failed`, and suppresses it.

        Raises the error where it is that of an engine or a database that answers nobody.
        """
        self._projects += 1
        try:
            yield
        except ProjectGoneError:
            return
        except Exception as error:
            if concerns_all(error):
                raise
            if isinstance(error, EngineUnavailableError):
                self._unanswered.append((project, error))
            else:
                note_failure(project, error, self._failed, doing="look at")

    def settle(self) -> None:
        """Notes for which projects the engine did not answer. Where that were all of them, raises the error instead:
        then it is no project's fault, and the next round tries all of them again.
        """
        if self._unanswered and len(self._unanswered) == self._projects:
            raise self._unanswered[0][1]
        for project, error in self._unanswered:
            note_failure(project, error, self._failed, doing="look at")


def concerns_all(error: Exception) -> bool:
    """Whether the engine or the database does not answer anybody. A single project may make either of them fail."""
    match error:
        case EngineUnavailableError():
            return not _engine_answers()
        case DatabaseError():
            return not connection.is_usable()
        case _:
            return False


def note_failure(project: Project, error: Exception, failed: list[str], *, doing: str) -> None:
    """Counts the failure and lets later rounds skip the project, for longer after each one in a row."""
    values = project.trouble_after(error, now=clock.now())
    Project.objects.filter(pk=project.pk).update(**values)
    said = str(error) if isinstance(error, FORESEEN) else type(error).__name__
    failed.append(f"{doing}: {project.container_name}: {said}")
    log.warning(
        "Could not %s %s (%d times in a row). It is tried again at %s: %s",
        doing,
        project.container_name,
        values["reconcile_failures"],
        values["reconcile_again_at"].isoformat(timespec="seconds"),
        said,
        exc_info=None if isinstance(error, FORESEEN) else error,
    )


def note_success(project: Project) -> None:
    """Forgets the failures of earlier rounds."""
    if project.reconcile_failures:
        Project.objects.filter(pk=project.pk).update(**NO_TROUBLE)
        log.info("%s gives no trouble any more.", project.container_name)


def _engine_answers() -> bool:
    try:
        with get_engine().deadline(PING_SECONDS):
            get_engine().ping()
    except EngineError:
        return False
    return True
