"""Start, stop and restart."""

import time

from django.utils import timezone

from containers.engine import EngineError, EngineUnavailableError
from projects.errors import ProjectSuspendedError
from projects.lifecycle import PREEMPTED_BY, Action, Desired, Operation, Verdict, judge_action
from projects.models import Actor, Event, Project
from projects.observing import observe_now
from projects.services.acts import CLEAN_SLATE, bring_up, failure_code, in_progress, take_down, time_allowed

POLL_SECONDS = 0.1


def control_project(*, project: Project, action: Action, actor: Actor) -> Project:
    """Carry out the command, and return the project as it is then.

    A stop that the engine cannot carry out now is recorded and carried out when it can: the status is `unknown` then.
    Raises `ProjectSuspendedError`, `OperationInProgressError`, `OperationLostError` and `EngineError`.
    """
    outcome = "failed"
    try:
        outcome = _stop(project) if action == Action.STOP else _start(project, action)
    finally:
        Event.record(project_id=project.pk, owner_id=project.owner_id, actor=actor, action=action, outcome=outcome)
    return project


def _start(project: Project, action: Action) -> str:
    observe_now(project)
    facts = project.facts()
    match judge_action(action, status=project.status, operation=facts.operation, suspended=facts.suspended):
        case Verdict.NOTHING:
            return "nothing to do"
        case Verdict.SUSPENDED:
            raise ProjectSuspendedError(f"“{project.name}” is suspended. Ask the staff to lift the suspension.")
        case Verdict.CONFLICT:
            raise in_progress(project)
    operation = Operation.RESTART if facts.is_up and action == Action.RESTART else Operation.START
    before = Desired(project.desired)
    claim = project.claim(operation, lasting=time_allowed(project), desired=Desired.RUNNING, **CLEAN_SLATE)
    if claim is None:
        raise in_progress(project)
    bring_up(project, claim, otherwise=before)
    return "done"


def _stop(project: Project) -> str:
    claim = project.claim(
        Operation.STOP,
        lasting=time_allowed(project),
        preempting=PREEMPTED_BY[Operation.STOP],
        desired=Desired.STOPPED,
    )
    if claim is None:
        return _wait_for_other_stop(project)
    try:
        take_down(project, claim)
    except EngineUnavailableError:
        project.record(claim)
        return "recorded"
    except EngineError as error:
        project.record(claim, failure_code=failure_code(error), failed_at=timezone.now())
        raise
    return "done"


def _wait_for_other_stop(project: Project) -> str:
    """Two stops are one: the second answers when the first has been carried out."""
    until = time.monotonic() + time_allowed(project).total_seconds()
    while time.monotonic() < until:
        project.refresh_from_db()
        operation = project.operation_in_flight(timezone.now())
        if project.desired == Desired.STOPPED and not operation:
            return "done"
        if project.desired != Desired.STOPPED or operation != Operation.STOP:
            break
        time.sleep(POLL_SECONDS)
    raise in_progress(project)
