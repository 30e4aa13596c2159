"""Takes over into the rows what the engine was seen to have, and counts crashes."""

from datetime import datetime
from typing import Any

from django.db import transaction

from accounts import clock, moments
from containers.get_engine import get_engine
from containers.vocabulary import ContainerState, Observation
from projects.models import Project
from projects.models.event import SYSTEM
from projects.rules.status.lifecycle import Desired, count_crashes
from projects.rules.status.reasons import code_of_end
from projects.services.reports.logs import read_log_tail
from projects.watcher.ends.crashes import describe_end
from projects.watcher.ends.ends import FindEnd

FAILED_WITHOUT = frozenset({"image_missing", "vanished"})
"""Failures of a project whose container was gone, which say nothing any more once it is there."""


def differs(project: Project, seen: Observation | None) -> bool:
    """Whether the row says something else than the observation, or was written in what is now the future."""
    values = project.observed_values(seen)
    return project.has_future_moments(clock.now()) or any(getattr(project, name) != values[name] for name in values)


def record_observation(
    project: Project, seen: Observation | None, *, at: datetime, find_end: FindEnd = lambda _: None
) -> bool:
    """Writes what was seen at `at`; of a crash also its count, how it ended, the end of the log and an event, together.

    Returns False, and writes nothing, where the row knows something newer or an operation has begun since it was read,
    and where an end that the engine has hidden by a restart is about to be heard of.
    """
    now = clock.now()
    if project.observed_at is not None and at <= project.observed_at and not project.has_future_moments(now):
        return False
    crashes = _count_crashes_between(project, seen)
    values = _failure_that_is_over(project, seen)
    if crashes and seen is not None:
        end = describe_end(project, seen, find_end, at=at)
        if end is None:
            return False
        values |= _crash_values(project, crashes, at=at) | end
    rows = Project.objects.filter(
        pk=project.pk, observed_at=project.observed_at, generation=project.generation, operation=""
    )
    for name, value in values.items():
        setattr(project, name, value)
    values |= {field: getattr(project, field) for field in project.apply_observation(seen, at=at)}
    if moments.is_future(project.updated_at, now=now):
        values["updated_at"] = project.updated_at = at  # or the heartbeat would say nothing of the row until then
    with transaction.atomic():
        if not rows.update(**values):
            return False
        if crashes:
            code = code_of_end(
                project.ended_exit_code, agent_code=project.ended_code, oom_killed=project.ended_oom_killed
            )
            project.event(SYSTEM, "crash", code).save()
    return True


def _failure_that_is_over(project: Project, seen: Observation | None) -> dict[str, Any]:
    """Where the container is there again without which the project has failed: somebody had led the engine to another
    directory. What it ran is there again as well."""
    is_back = not project.container_state and seen is not None and project.failure_code in FAILED_WITHOUT
    return {"failure_code": "", "failed_at": None} if is_back else {}


def _count_crashes_between(project: Project, seen: Observation | None) -> int:
    """How often the container ended by itself since the row was written, while it was wanted running."""
    if seen is None or project.desired != Desired.RUNNING or project.is_suspended or project.gave_up_at:
        return 0
    if seen.container_id != project.container_id:
        return 0
    restarted = max((seen.restart_count or 0) - project.restarts, 0)
    return restarted or int(_has_ended_since(project, seen) and not _ended_with_engine(seen))


def _has_ended_since(project: Project, seen: Observation) -> bool:
    """Whether a run has ended of which the row does not know: the one that it calls running, or another one."""
    if seen.state != ContainerState.EXITED:
        return False
    was_down = project.container_state in {ContainerState.EXITED, ContainerState.RESTARTING}
    is_another_run = was_down and seen.finished_at != project.finished_at
    return is_another_run or project.container_state in {ContainerState.RUNNING, ContainerState.PAUSED}


def _ended_with_engine(seen: Observation) -> bool:
    """Whether the engine or the whole machine ended, and the agent with it."""
    started_at = get_engine().started_at()
    return started_at is not None and seen.finished_at is not None and seen.finished_at <= started_at


def _crash_values(project: Project, crashes: int, *, at: datetime) -> dict[str, Any]:
    since, count = count_crashes(since=project.crashes_since, count=project.crash_count, more=crashes, now=at)
    return {"crashes_since": since, "crash_count": count, "log_tail": read_log_tail(project)}
