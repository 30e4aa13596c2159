"""One project in a round: updates its row, and repairs differences from the desired state."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import NamedTuple

from accounts import clock
from containers.errors import ContainerSilentError, EngineUnavailableError, FirewallMissingError, GatewayMissingError
from containers.identity import find_spare
from containers.vocabulary import Observation
from projects.errors import OperationLostError, ProjectGoneError
from projects.models import Project
from projects.rules.status.remedies import Remedy, choose_remedy
from projects.services.images.rollback import WITHIN
from projects.services.operations import command_deadline, repair_within
from projects.watcher.ends.observation import differs, record_observation
from projects.watcher.ends.run_ends import FindEnd, with_late_news
from projects.watcher.ends.states_from_events import awaits_news, heard_state, is_ending
from projects.watcher.failures import FORESEEN, concerns_all, note_failure, note_success
from projects.watcher.protection import note_protection
from projects.watcher.reconcile.inspection import Answer, inspect
from projects.watcher.reconcile.repair import carry_out
from projects.watcher.reconcile.round import Round

log = logging.getLogger(__name__)

SILENT = "The engine does not say how this container is, though it answers for others."


class Differences(NamedTuple):
    """The facts about a project's containers that are not in its row; see `choose_remedy`."""

    outdated: bool = False
    crowded: bool = False
    drifted: bool = False
    barred: bool = False


class Decision(NamedTuple):
    """What to do about a project, and why."""

    remedy: Remedy
    differences: Differences


def reconcile_project(
    project: Project,
    group: Sequence[Observation],
    answer: Answer | None,
    result: Round,
    *,
    repair: bool,
    barred: bool,
    find_end: FindEnd,
) -> Decision | None:
    """Updates the row from the project's containers. Returns what to do, or None.

    `answer` inspects the container if the list in `group` is not enough. A container that an interrupted operation
    removed did not vanish by itself.
    """
    if project.operation:
        if not project.release_abandoned(recreated_at=None):
            return None
        if not any(each.is_silent for each in group):
            answer = partial(inspect, project.container_key)  # the list may be older than the end of the operation
    seen = _see(project, group, answer, find_end=find_end, at=result.at)
    if differs(project, seen):
        if not record_observation(project, seen, at=result.at, find_end=find_end):
            return None  # an operation has begun since, so the observation is outdated
        result.changed += 1
    if not repair or (seen is not None and seen.is_hearsay):
        note_success(project)
        return None
    decision = decide(project, compare(project, seen, group, barred=barred))
    note_protection(project, barred=barred)
    if decision is None:
        note_success(project)
    return decision


def compare(project: Project, seen: Observation | None, group: Sequence[Observation], *, barred: bool) -> Differences:
    if seen is None:
        return Differences(barred=barred)
    return Differences(
        outdated=seen.generation < project.generation,
        crowded=sum(each.is_up for each in group) > 1,
        drifted=seen.has_drifted or bool(find_spare(group)),
        barred=barred,
    )


def decide(project: Project, differences: Differences) -> Decision | None:
    crash_count, recreated_at, facts = project.crash_count, project.recreated_at, differences._asdict()
    remedy = choose_remedy(project.facts(), crash_count=crash_count, recreated_at=recreated_at, **facts)
    return None if remedy is None else Decision(remedy, differences)


def has_to_be_inspected(project: Project, group: Sequence[Observation], find_end: FindEnd, *, is_changed: bool) -> bool:
    """Returns whether the list does not say enough about the container, and an inspection may say more."""
    if any(each.is_silent for each in group) or project.operation_in_flight(clock.now()):
        return False
    if is_ending(project, group, find_end):
        return False
    seen = next(iter(group), None)
    if seen is None:
        # A container may be missing from a list although it exists. This does not matter if there should be none.
        return is_changed or bool(project.container_state or project.awaits_container)
    if is_changed or not seen.is_complete:
        return True
    # A list says neither since when a container runs nor from which image.
    is_new = seen.container_id != project.container_id
    return seen.is_brief and (is_new or project.has_reported_since(seen))


def _see(
    project: Project, group: Sequence[Observation], answer: Answer | None, *, find_end: FindEnd, at: datetime
) -> Observation | None:
    """Returns the project's container; by events if it has ended and the engine is not done with it.

    Raises `ContainerSilentError` if the engine does not report its state.
    """
    if answer is None and is_ending(project, group, find_end):
        return heard_state(project, group, find_end)
    try:
        seen = _ask(group, answer)
    except ContainerSilentError:
        heard = heard_state(project, group, find_end)
        if heard is None:
            raise
        return heard
    if seen is None:
        return None
    seen = with_late_news(seen, find_end)
    if awaits_news(project, seen, find_end, at=at):
        return heard_state(project, group, find_end) or seen
    return seen


def _ask(group: Sequence[Observation], answer: Answer | None) -> Observation | None:
    if any(each.is_silent for each in group):
        raise ContainerSilentError(SILENT)
    return answer() if answer is not None else next(iter(group), None)


@dataclass(frozen=True, slots=True)
class Repair:
    """A repair outside of a round. It records errors in the row like a round.

    It may have waited for its turn, so it does nothing if it is no longer needed.
    """

    project: Project
    decision: Decision

    def __call__(self) -> None:
        project, result = self.project, Round(at=clock.now())
        try:
            project.reread()
            is_still_right = self.decision == decide(project, self.decision.differences)
            if is_still_right and repair_within_round(project, self.decision.remedy, result):
                note_success(project)
        except ProjectGoneError:
            return
        except Exception as error:  # noqa: BLE001 - the boundary of the thread
            if concerns_all(error):
                log.warning("Could not %s %s: %s", self.decision.remedy.value, project.container_name, error)
            else:
                note_failure(project, error, result.failed, doing=self.decision.remedy.value)


def repair_within_round(project: Project, remedy: Remedy, result: Round) -> bool:
    """Carries out the remedy. Returns whether there was no failure. If the engine refused, the row has the outcome."""
    name = f"{remedy.value}: {project.container_name}"
    try:
        seconds = WITHIN if remedy is Remedy.UPDATE else repair_within(project.agent_type)
        with command_deadline(seconds):
            is_repaired = carry_out(remedy, project)
    except (FirewallMissingError, GatewayMissingError) as error:
        result.failed.append(f"{name}: {error}")
        return True  # not the project's fault; the watcher logs why
    except EngineUnavailableError:
        raise
    except (OperationLostError, ProjectGoneError):
        return True  # the owner has given another command since
    except FORESEEN as error:
        note_failure(project, error, result.failed, doing=remedy.value)
        return False
    if is_repaired:
        result.repaired.append(name)
        log.info("Reconciled %s.", name)
    return True
