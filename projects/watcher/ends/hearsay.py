"""How a container is by the engine's events alone, while the engine does not answer for it.

An engine that takes a container down, or starts it again, answers nothing about it before it is done. Where sixty end
at once that takes it many seconds, and its list goes on to call them what they were.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from containers.agent_contract import AgentState
from containers.vocabulary import AgentReport, ContainerState, Health, Observation
from projects.models import Project
from projects.rules.status.lifecycle import Desired
from projects.watcher.ends.ends import KILLED, End, FindEnd

NEWS_WITHIN = timedelta(seconds=1)
"""How long the kernel may take to tell that a run which it has killed had run out of memory."""

_UP = frozenset({ContainerState.RUNNING, ContainerState.RESTARTING})
"""What a list may say of a container that has just been started again."""

CALLED_UP = frozenset({ContainerState.RUNNING, ContainerState.PAUSED})
"""What a row may say of a container of which it does not know yet that it has ended."""


def heard_state(project: Project, group: Sequence[Observation], find_end: FindEnd) -> Observation | None:
    """The container of a project that is wanted running, where events tell that it has ended, or has ended and was
    started again just now; else None.
    """
    return _heard_end(project, group, find_end) or _heard_start(project, group, find_end)


def _heard_end(project: Project, group: Sequence[Observation], find_end: FindEnd) -> Observation | None:
    """Its state is RESTARTING, which counts no crash: that is for the engine's own words, which come later."""
    end = _find(project, group, find_end)
    if end is None or not end.is_present:
        return None
    starts = [project.started_at, *(each.started_at for each in group)]
    if any(started_at is not None and started_at > end.at for started_at in starts):
        return None  # it runs again, of which no event has come yet
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
    """It runs. How well, only a row tells that knows this run already. How the run before ended counts when the engine
    tells of the restart.
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
        return None  # nobody starts it again
    return find_end(project.container_id) if _is_of(group, project.container_id) else None


def is_ending(project: Project, group: Sequence[Observation], find_end: FindEnd) -> bool:
    """Whether the list calls a container running that has ended: the engine is not done with it, and tells nothing."""
    is_listed_up = len(group) == 1 and group[0].state is ContainerState.RUNNING
    return is_listed_up and _heard_end(project, group, find_end) is not None


def awaits_news(project: Project, seen: Observation, find_end: FindEnd, *, at: datetime) -> bool:
    """Whether it is too early to tell why a container was killed: that its memory had run out may be told later."""
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
    """Whether what was listed is this container only."""
    return len(group) <= 1 and all(each.container_id == container_id for each in group)
