"""Derives a container's state from the engine's events alone, while the engine does not answer about it.

An engine that takes a container down, or restarts it, does not answer about it until it is done. If sixty end at once,
this takes many seconds, during which the engine's list still shows their former state.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from containers.agent_contract import AgentState
from containers.vocabulary import AgentReport, ContainerState, Health, Observation
from projects.models import Project
from projects.rules.status.lifecycle import Desired
from projects.watcher.ends.run_ends import KILLED, End, FindEnd

NEWS_WITHIN = timedelta(seconds=1)
"""How long the kernel may take to report that a killed run had run out of memory."""

_UP = frozenset({ContainerState.RUNNING, ContainerState.RESTARTING})
"""The states that a list may show for a container that has just been restarted."""

CALLED_UP = frozenset({ContainerState.RUNNING, ContainerState.PAUSED})
"""The states that a row may have if it does not know yet that the container has ended."""


def heard_state(project: Project, group: Sequence[Observation], find_end: FindEnd) -> Observation | None:
    """Returns the container of a project that should run, if events say that it has ended, or has ended and just been
    restarted; else None.
    """
    return _heard_end(project, group, find_end) or _heard_start(project, group, find_end)


def _heard_end(project: Project, group: Sequence[Observation], find_end: FindEnd) -> Observation | None:
    """Returns the ended container as RESTARTING, which counts no crash; that waits for the engine's own answer."""
    end = _find(project, group, find_end)
    if end is None or not end.is_present:
        return None
    starts = [project.started_at, *(each.started_at for each in group)]
    if any(started_at is not None and started_at > end.at for started_at in starts):
        return None  # it runs again, but its start event has not come yet
    return Observation(
        name=project.container_name,
        container_id=project.container_id,
        labels={},
        state=ContainerState.RESTARTING,
        exit_code=end.exit_code,
        oom_killed=end.oom_killed,
        is_hearsay=True,
    )


def _heard_start(project: Project, group: Sequence[Observation], find_end: FindEnd) -> Observation | None:
    """Returns the container as running. Its health comes from the row if that already knows this run.

    The end of the former run is counted when the engine reports the restart.
    """
    end = _find(project, group, find_end)
    if end is None or end.started_at is None or not _UP.issuperset(each.state for each in group):
        return None
    before = Health(project.health)
    is_known = project.started_at is not None and project.started_at > end.at
    return Observation(
        name=project.container_name,
        container_id=project.container_id,
        labels={},
        state=ContainerState.RUNNING,
        health=before if is_known or before is Health.NONE else Health.STARTING,
        started_at=None if is_known else end.started_at,
        report=None if is_known else AgentReport(state=AgentState.STARTING),
        is_hearsay=True,
    )


def _find(project: Project, group: Sequence[Observation], find_end: FindEnd) -> End | None:
    if project.desired != Desired.RUNNING or project.is_suspended or project.gave_up_at or project.failure_code:
        return None  # nothing restarts it
    return find_end(project.container_id) if _is_of(group, project.container_id) else None


def is_ending(project: Project, group: Sequence[Observation], find_end: FindEnd) -> bool:
    """Returns whether the list shows an ended container as running, because the engine is not done with it."""
    is_listed_up = len(group) == 1 and group[0].state is ContainerState.RUNNING
    return is_listed_up and _heard_end(project, group, find_end) is not None


def awaits_news(project: Project, seen: Observation, find_end: FindEnd, *, at: datetime) -> bool:
    """Returns whether it is too early to say why a container was killed, because an `oom` event may still come."""
    if seen.state is not ContainerState.EXITED or seen.exit_code != KILLED or seen.oom_killed:
        return False
    end = find_end(seen.container_id)
    if end is None or not (end.is_present and end.is_unexplained):
        return False
    match project.container_state:
        case ContainerState.RESTARTING if project.exit_code == KILLED and project.observed_at is not None:
            return timedelta(0) <= at - project.observed_at < NEWS_WITHIN
        case ContainerState.EXITED:
            return project.finished_at != seen.finished_at
        case _:
            return True


def _is_of(group: Sequence[Observation], container_id: str) -> bool:
    """Returns whether the list has no other container than this one."""
    return len(group) <= 1 and all(each.container_id == container_id for each in group)
