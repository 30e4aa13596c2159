"""One round over everything on the engine: what was seen goes into the rows, and what can be repaired is repaired.

A round is safe at any time and beside anything: it writes only to rows that no operation holds, and acts only on
projects that it has claimed.
"""

import logging
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from containers.engine import INSTANCE_LABEL, ContainerState, EngineError, EngineUnavailableError, Observation
from containers.get_engine import get_engine
from projects.credentials.encryption import SecretUnreadableError
from projects.errors import OperationLostError, ProjectError, ProjectGoneError
from projects.models import Project
from projects.models.event import SYSTEM
from projects.rules.lifecycle import Desired, Operation, count_crashes
from projects.rules.remedies import Remedy, choose_remedy
from projects.services.deletion import claim_deletion, finish_deletion
from projects.services.logs import read_log_tail
from projects.services.observation import save_observation
from projects.services.operations import bring_up, command_deadline, take_down, time_allowed
from projects.watcher.crash_mail import notify_owner
from projects.watcher.orphans import find_leftovers, remove_orphans

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Round:
    """What a round saw and did. `at` is the moment up to which the rows now tell everything."""

    at: datetime
    seen: int = 0
    changed: int = 0
    repaired: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def reconcile(*, changed_names: Collection[str] = (), repair: bool = True, include_volumes: bool = True) -> Round:
    """Look at every container of this instance once. Raises `EngineUnavailableError`, having changed nothing more.

    With `include_volumes` it also looks at the volumes, which a killed process may leave without a container and
    without a row. `changed_names` are names of containers that the engine's events were about: they are inspected.
    """
    result = Round(at=timezone.now())
    engine = get_engine()
    found = {seen.name: seen for seen in engine.observe({INSTANCE_LABEL: settings.BERTH_INSTANCE})}
    result.seen = len(found)
    rows = Project.objects.filter(instance=settings.BERTH_INSTANCE).select_related("owner", "plan", "agent_type")
    for project in rows:
        seen = found.pop(project.container_name, None)
        with suppress(ProjectGoneError):
            _attend(project, seen, result, inspect=project.container_name in changed_names, repair=repair)
    if repair:
        orphans = {orphan.name: orphan.created_at for orphan in found.values()}
        repaired, failed = remove_orphans(orphans | (find_leftovers() if include_volumes else {}), now=result.at)
        result.repaired += repaired
        result.failed += failed
    return result


def _attend(project: Project, seen: Observation | None, result: Round, *, inspect: bool, repair: bool) -> None:
    # What an interrupted operation took away did not vanish by itself.
    if project.operation and not project.release_expired(recreated_at=None):
        return
    if inspect or (seen is None and (project.container_state or project.desired == Desired.RUNNING)):
        # A list that lacks a container is no proof of its absence.
        seen = get_engine().inspect(project.container_name)
    if _differs(project, seen):
        if not _take_over(project, seen, result.at):
            return  # an operation came in between; what was seen says nothing of what it left
        result.changed += 1
    if not repair:
        return
    remedy = choose_remedy(
        project.facts(),
        crash_count=project.crash_count,
        recreated_at=project.recreated_at,
        outdated=seen is not None and seen.generation < project.generation,
    )
    if remedy is not None:
        _apply(remedy, project, result)


def _take_over(project: Project, seen: Observation | None, at: datetime) -> bool:
    """Write what was seen, unless the row knows better; a crash is counted, and the end of its log kept."""
    crashes = _crashes_between(project, seen)
    values: dict[str, Any] = {}
    if crashes:
        since, count = count_crashes(since=project.crashes_since, count=project.crash_count, more=crashes, now=at)
        values |= {"crashes_since": since, "crash_count": count, "log_tail": read_log_tail(project)}
    if not save_observation(project, seen, at=at, **values):
        return False
    for name, value in values.items():
        setattr(project, name, value)
    if crashes:
        reason = project.reason
        project.note(SYSTEM, "crash", reason.code if reason else f"exit {project.exit_code}")
    return True


def _differs(project: Project, seen: Observation | None) -> bool:
    return any(getattr(project, name) != value for name, value in project.observed_values(seen).items())


def _crashes_between(project: Project, seen: Observation | None) -> int:
    """How often the container ended by itself since the row was written, while it was wanted running."""
    if seen is None or project.desired != Desired.RUNNING or project.is_suspended or project.gave_up_at:
        return 0
    if seen.container_id != project.container_id:
        return 0
    restarted = max((seen.restart_count or 0) - project.restarts, 0)
    ended = seen.state == "exited" and project.container_state in {"running", "paused"}
    return restarted or int(ended)


def _apply(remedy: Remedy, project: Project, result: Round) -> None:
    name = f"{remedy.value}: {project.container_name}"
    try:
        with command_deadline(project.agent_type):
            is_repaired = _REMEDIES[remedy](project)
        if is_repaired:
            result.repaired.append(name)
            project.note(SYSTEM, remedy.value, "done")
            log.info("Reconciled %s.", name)
    except EngineUnavailableError:
        raise
    except (OperationLostError, ProjectGoneError):
        return  # the owner has decided otherwise meanwhile
    except (EngineError, ProjectError, SecretUnreadableError) as error:
        result.failed.append(f"{name}: {error}")
        project.note(SYSTEM, remedy.value, "failed")
        notify_owner(project)
        log.warning("Could not reconcile %s: %s", name, error)


def _finish_deletion(project: Project) -> bool:
    claim = claim_deletion(project)
    return claim is not None and finish_deletion(project, claim)


def _take_down(project: Project) -> bool:
    return _stop(project)


def _give_up(project: Project) -> bool:
    if not _stop(project, gave_up_at=timezone.now()):
        return False
    notify_owner(project)
    return True


def _stop(project: Project, **wants: Any) -> bool:
    claim = project.claim(Operation.STOP, lasting=time_allowed(project), unchanged=True, **wants)
    if claim is None:
        return False
    try:
        take_down(project, claim)
    except EngineError:
        project.record(claim)
        raise
    return True


def _bring_back(project: Project) -> bool:
    return _start(project)


def _recreate(project: Project) -> bool:
    return _start(project, recreated_at=timezone.now())


def _start(project: Project, **values: Any) -> bool:
    # One that has ended is started as it is, and not replaced: maybe the whole engine is about to end, which after
    # that has to find something that it can start again.
    renew = project.container_state != ContainerState.EXITED
    claim = project.claim(Operation.START, lasting=time_allowed(project), unchanged=True, renew=renew)
    if claim is None:
        return False
    bring_up(project, claim, otherwise=Desired(project.desired), **values)
    return True


def _declare_failed(project: Project) -> bool:
    lost = Project.objects.filter(pk=project.pk, operation="", generation=project.generation)
    if not lost.update(failure_code="vanished", failed_at=timezone.now()):
        return False
    project.refresh_from_db()
    notify_owner(project)
    return True


_REMEDIES: dict[Remedy, Callable[[Project], bool]] = {
    Remedy.FINISH_DELETION: _finish_deletion,
    Remedy.TAKE_DOWN: _take_down,
    Remedy.GIVE_UP: _give_up,
    Remedy.BRING_BACK: _bring_back,
    Remedy.RECREATE: _recreate,
    Remedy.DECLARE_FAILED: _declare_failed,
}
