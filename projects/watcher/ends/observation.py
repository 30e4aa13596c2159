"""Records observations of the engine in the rows, and counts crashes."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction

from accounts import clock, moments
from containers.get_engine import get_engine
from containers.vocabulary import ContainerState, Observation
from projects.models import Project
from projects.models.event import SYSTEM
from projects.rules.permissions import Egress
from projects.rules.status.lifecycle import Desired, count_crashes
from projects.rules.status.reasons import code_of_end
from projects.services.gateway.confinement import is_confined
from projects.services.reports.logs import read_log_tail
from projects.watcher.ends.crashes import describe_end
from projects.watcher.ends.run_ends import FindEnd

FAILED_WITHOUT = frozenset({"image_missing", "vanished"})
"""Failures of a project whose container was missing, which no longer apply once it is there."""


def differs(project: Project, seen: Observation | None) -> bool:
    """Returns whether the row differs from the observation, or seems written in the future."""
    values = project.observed_values(seen)
    return project.has_future_moments(clock.now()) or any(getattr(project, name) != values[name] for name in values)


def record_observation(
    project: Project, seen: Observation | None, *, at: datetime, find_end: FindEnd = lambda _: None
) -> bool:
    """Writes an observation made at `at`. For a crash, also writes its count, its end, the last log lines and an event.

    Writes nothing and returns False if the row is newer or if an operation has begun since it was read. Writes the new
    run without the crash and returns False if the event for an end that a restart by the engine has hidden is about to
    come: the next observation counts it.
    """
    now = clock.now()
    if project.observed_at is not None and at <= project.observed_at and not project.has_future_moments(now):
        return False
    crashes, is_whole = _count_crashes_between(project, seen), True
    values = _failure_that_is_over(project, seen) | _new_generation(project, seen)
    if crashes and seen is not None:
        if end := describe_end(project, seen, find_end, at=at):
            values |= _crash_values(project, crashes, at=at) | end
        else:
            crashes, is_whole, seen = 0, False, replace(seen, restart_count=None)
    rows = Project.objects.filter(
        pk=project.pk, observed_at=project.observed_at, generation=project.generation, operation=""
    )
    for name, value in values.items():
        setattr(project, name, value)
    values |= {field: getattr(project, field) for field in project.apply_observation(seen, at=at)}
    if moments.is_future(project.updated_at, now=now):
        values["updated_at"] = project.updated_at = at  # otherwise the heartbeat would not cover the row until then
    with transaction.atomic():
        if not rows.update(**values):
            return False
        if crashes:
            code = code_of_end(
                project.ended_exit_code, agent_code=project.ended_code, oom_killed=project.ended_oom_killed
            )
            project.event(SYSTEM, "crash", code).save()
    return is_whole


def _failure_that_is_over(project: Project, seen: Observation | None) -> dict[str, Any]:
    """Returns the fields that clear a failure because the missing container is back.

    This happens if the engine used another data directory for a while; the image is back then too.
    """
    is_back = not project.container_state and seen is not None and project.failure_code in FAILED_WITHOUT
    return {"failure_code": "", "failed_at": None} if is_back else {}


def _new_generation(project: Project, seen: Observation | None) -> dict[str, Any]:
    """Returns a new generation if the engine has started an agent again, as it was, that may reach less since.

    The container is then outdated, and the watcher replaces it. A running agent is left alone until such a start.
    """
    if seen is None or seen.container_id != project.container_id:
        return {}
    began = {seen.started_at, project.started_at} - {None}
    if len(began) < 2 or project.egress != Egress.GATEWAY:
        return {}
    return {"generation": project.generation + 1} if not is_confined(project) else {}


def _count_crashes_between(project: Project, seen: Observation | None) -> int:
    """Returns how often the container ended by itself since the row was written, while it should have run."""
    if seen is None or project.desired != Desired.RUNNING or project.is_suspended or project.gave_up_at:
        return 0
    if seen.container_id != project.container_id:
        return 0
    restarted = max((seen.restart_count or 0) - project.restarts, 0)
    return restarted or int(_has_ended_since(project, seen) and not _ended_with_engine(seen))


def _has_ended_since(project: Project, seen: Observation) -> bool:
    """Returns whether a run has ended that the row does not know as ended: its running one or another one."""
    if seen.state != ContainerState.EXITED:
        return False
    was_down = project.container_state in {ContainerState.EXITED, ContainerState.RESTARTING}
    is_another_run = was_down and seen.finished_at != project.finished_at
    return is_another_run or project.container_state in {ContainerState.RUNNING, ContainerState.PAUSED}


def _ended_with_engine(seen: Observation) -> bool:
    """Returns whether the agent ended together with the engine or the whole machine."""
    started_at = get_engine().started_at()
    return started_at is not None and seen.finished_at is not None and seen.finished_at <= started_at


def _crash_values(project: Project, crashes: int, *, at: datetime) -> dict[str, Any]:
    since, count = count_crashes(since=project.crashes_since, count=project.crash_count, more=crashes, now=at)
    return {"crashes_since": since, "crash_count": count, "log_tail": read_log_tail(project)}
