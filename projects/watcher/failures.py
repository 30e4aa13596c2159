"""Confines a failure at one project to that project, so that the round continues with all others.

Only failures that concern all projects end a round: an engine or a database that does not answer. If a row is locked,
the failure cannot be recorded in it and is kept in memory.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import OperationalError, connection
from django.db.utils import Error as DatabaseError
from django.db.utils import InterfaceError, InternalError

from accounts import clock
from accounts.database.faults import find_fault
from containers.errors import ContainerSilentError, EngineError, EngineUnavailableError
from containers.get_engine import get_engine
from projects.credentials.encryption import SecretUnreadableError
from projects.errors import ProjectError, ProjectGoneError
from projects.models import Project
from projects.models.columns.reconciliation import NO_TROUBLE, pause_after

log = logging.getLogger(__name__)

PING_SECONDS = 2.0
MOST_LOCKED = 2
"""How many locked rows a round tolerates before it takes the whole table for locked and ends. Each costs seconds."""

FORESEEN = (EngineError, ProjectError, SecretUnreadableError)
"""Errors whose message is sufficient. Any other error is logged with its traceback."""

_PASSING = (OperationalError, InterfaceError, InternalError)

LONGEST_PAUSE = 60.0
"""The maximum number of seconds for which a locked row is skipped."""


class LockedRows:
    """The projects whose rows this process could not write, and until when they are skipped."""

    def __init__(self) -> None:
        self._failures: dict[UUID, int] = {}
        self._until: dict[UUID, float] = {}

    def note(self, project_id: UUID) -> None:
        failures = self._failures.get(project_id, 0) + 1
        self._failures[project_id] = failures
        self._until[project_id] = time.monotonic() + min(pause_after(failures).total_seconds(), LONGEST_PAUSE)

    def forget(self, project_id: UUID) -> None:
        self._failures.pop(project_id, None)
        self._until.pop(project_id, None)

    def __contains__(self, project_id: UUID) -> bool:
        """Returns whether the last attempt to write the row failed. Then the heartbeat must not vouch for it."""
        return project_id in self._until

    def ids(self) -> set[UUID]:
        """Returns the projects for whose rows the last attempt to write failed."""
        return set(self._until)

    def is_skipped(self, project_id: UUID) -> bool:
        return time.monotonic() < self._until.get(project_id, 0.0)


locked_rows = LockedRows()


class Confinement:
    """Wraps the work on each project of a round. `failed` gets a line for each failure."""

    def __init__(self, failed: list[str]) -> None:
        self._failed = failed
        self._projects = self._locked = 0
        self._unanswered: list[tuple[Project, EngineUnavailableError]] = []

    def count(self, well: int) -> None:
        """Counts projects for which the round had nothing to do."""
        self._projects += well

    @contextmanager
    def of(self, project: Project) -> Iterator[None]:
        """Records an error from the block in the row, in the log and in `failed`, and suppresses it.

        Raises the error if the engine or the database does not answer at all.
        """
        self._projects += 1
        try:
            yield
            locked_rows.forget(project.pk)
        except ProjectGoneError:
            locked_rows.forget(project.pk)
        except ContainerSilentError as error:
            note_failure(project, error, self._failed, doing="look at")
        except Exception as error:
            self._locked += isinstance(error, OperationalError)
            if concerns_all(error) or self._locked > MOST_LOCKED:
                raise
            if isinstance(error, EngineUnavailableError):
                self._unanswered.append((project, error))
            else:
                note_failure(project, error, self._failed, doing="look at")

    def settle(self) -> None:
        """Records the projects about which the engine did not answer.

        If these are all projects, raises the error instead, because it is not their fault: the next round tries all of
        them again.
        """
        if self._unanswered and len(self._unanswered) == self._projects:
            raise self._unanswered[0][1]
        for project, error in self._unanswered:
            note_failure(project, error, self._failed, doing="look at")


def is_of_the_database(error: BaseException) -> bool:
    """Returns whether this is an error of a database that may be well again soon.

    Examples are a lock, a time limit, a lost connection, no space, a missing right or a damaged file. Such an error
    says nothing about what was to be written, so a reader of a queue waits and does not pass over the entry.
    """
    return isinstance(error, _PASSING) or find_fault(error) is not None


@contextmanager
def passing_over(project: Project, *, doing: str) -> Iterator[None]:
    """Logs an error from the block, so that the others get their turn. Raises it if it concerns all projects."""
    try:
        yield
    except ProjectGoneError:
        return
    except Exception as error:
        if concerns_all(error):
            raise
        log.exception("Could not %s %s; the next check tries again.", doing, project.container_name)


def concerns_all(error: Exception) -> bool:
    """Returns whether the engine or the database does not answer at all, and did not merely fail at one project."""
    match error:
        case ContainerSilentError():
            return False
        case EngineUnavailableError():
            return not _engine_answers()
        case DatabaseError():
            return not connection.is_usable()
        case _:
            return False


def note_failure(project: Project, error: Exception, failed: list[str], *, doing: str) -> None:
    """Counts the failure and lets later rounds skip the project, longer after each consecutive failure."""
    if isinstance(error, OperationalError):
        locked_rows.note(project.pk)
        failed.append(f"{doing}: {project.container_name}: its row could not be written")
        log.warning("Could not %s %s, because its row could not be written: %s", doing, project.container_name, error)
        return
    values = project.trouble_after(error, now=clock.now())
    Project.objects.filter(pk=project.pk).update(**values)
    description = str(error) if isinstance(error, FORESEEN) else type(error).__name__
    failed.append(f"{doing}: {project.container_name}: {description}")
    log.warning(
        "Could not %s %s (%d times in a row). It is tried again at %s: %s",
        doing,
        project.container_name,
        values["reconcile_failures"],
        values["reconcile_again_at"].isoformat(timespec="seconds"),
        description,
        exc_info=None if isinstance(error, FORESEEN) else error,
    )


def note_success(project: Project) -> None:
    """Forgets the failures of earlier rounds."""
    if project.reconcile_failures:
        Project.objects.filter(pk=project.pk).update(**NO_TROUBLE)
        log.info("%s gives no more trouble.", project.container_name)


def _engine_answers() -> bool:
    try:
        with get_engine().deadline(PING_SECONDS):
            get_engine().ping()
    except EngineError:
        return False
    return True
