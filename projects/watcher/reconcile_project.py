"""One project in a round: brings its row up to date, and repairs what differs from what is wanted."""

import logging
from collections.abc import Sequence

from accounts import clock
from containers.errors import ContainerSilentError, EngineUnavailableError, FirewallMissingError
from containers.get_engine import get_engine
from containers.vocabulary import Observation
from projects.errors import OperationLostError, ProjectGoneError
from projects.models import Project
from projects.rules.lifecycle import Desired
from projects.rules.remedies import Remedy, choose_remedy
from projects.services.operations import command_deadline, repair_within
from projects.watcher.ends import FindEnd, with_late_news
from projects.watcher.failures import FORESEEN, concerns_all, note_failure, note_success
from projects.watcher.observation import differs, record_observation
from projects.watcher.protection import note_protection
from projects.watcher.repair import carry_out
from projects.watcher.round import Round

log = logging.getLogger(__name__)

INSPECT_WITHIN = 3.0
"""Seconds that a round waits for what the engine says of one container."""

SILENT = "The engine does not say how this container is, though it answers for others."


def reconcile_project(
    project: Project,
    group: Sequence[Observation],
    result: Round,
    *,
    inspect: bool,
    repair: bool,
    barred: bool,
    find_end: FindEnd,
) -> Remedy | None:
    """Brings the row up to date with the containers of the project. Returns what is to be done."""
    # If an interrupted operation has removed the container, that did not vanish by itself.
    if project.operation and not project.release_expired(recreated_at=None):
        return None
    seen = _see(project, group, inspect=inspect, find_end=find_end)
    if differs(project, seen):
        if not record_observation(project, seen, at=result.at, find_end=find_end):
            return None  # an operation has begun since, and what was seen says nothing of what it does
        result.changed += 1
    if not repair:
        note_success(project)
        return None
    remedy = choose_remedy(
        project.facts(),
        crash_count=project.crash_count,
        recreated_at=project.recreated_at,
        outdated=seen is not None and (seen.generation < project.generation or _count_up(group) > 1),
        drifted=seen is not None and seen.has_drifted,
        barred=barred,
    )
    note_protection(project, barred=barred)
    if remedy is None:
        note_success(project)
    return remedy


def _see(project: Project, group: Sequence[Observation], *, inspect: bool, find_end: FindEnd) -> Observation | None:
    """The container that tells the state. Raises `ContainerSilentError` where the engine does not say how it is."""
    if any(each.is_silent for each in group):
        raise ContainerSilentError(SILENT)
    seen = next(iter(group), None)
    is_missing = seen is None and (project.container_state or project.desired == Desired.RUNNING)
    is_doubtful = seen is not None and (not seen.is_complete or (seen.is_brief and project.has_reported_since(seen)))
    if inspect or is_missing or is_doubtful:
        # A list that lacks a container is no proof of its absence.
        with get_engine().deadline(INSPECT_WITHIN):
            seen = get_engine().inspect(project.container_key)
    if seen is not None:
        seen = with_late_news(seen, find_end)
    return seen


def _count_up(group: Sequence[Observation]) -> int:
    """Several containers of one agent poll one bot, and knock each other out."""
    return sum(each.is_up for each in group)


def repair_later(project: Project, remedy: Remedy) -> None:
    """A repair outside of any round. What went wrong is noted in the row, as it is within a round."""
    result = Round(at=clock.now())
    try:
        if repair_within_round(project, remedy, result):
            note_success(project)
    except ProjectGoneError:
        return
    except Exception as error:  # noqa: BLE001 - the boundary of the thread
        if concerns_all(error):
            log.warning("Could not %s %s: %s", remedy.value, project.container_name, error)
        else:
            note_failure(project, error, result.failed, doing=remedy.value)


def repair_within_round(project: Project, remedy: Remedy, result: Round) -> bool:
    """Returns whether it went well. Of what the engine refused, the outcome is in the row already."""
    name = f"{remedy.value}: {project.container_name}"
    try:
        with command_deadline(repair_within(project.agent_type)):
            is_repaired = carry_out(remedy, project)
    except FirewallMissingError as error:
        result.failed.append(f"{name}: {error}")
        return True  # none of the project's fault; the watcher logs why
    except EngineUnavailableError:
        raise
    except (OperationLostError, ProjectGoneError):
        return True  # the owner has decided something else since
    except FORESEEN as error:
        note_failure(project, error, result.failed, doing=remedy.value)
        return False
    if is_repaired:
        result.repaired.append(name)
        log.info("Reconciled %s.", name)
    return True
