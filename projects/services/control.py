"""Start, stop and restart."""

from django.utils import timezone

from containers.engine import EngineError, EngineUnavailableError
from projects.errors import ProjectSuspendedError
from projects.models import Actor, Project
from projects.rules.control import Verdict, judge_action
from projects.rules.lifecycle import Action, Desired, Operation
from projects.services.observation import observe_now
from projects.services.operations import (
    CLEAN_SLATE,
    bring_up,
    claim_stop,
    command_deadline,
    failure_code,
    in_progress,
    take_down,
    time_allowed,
)

ATTEMPTS = 5
"""How often a start looks anew because another operation came and went while it looked."""


def control_project(*, project: Project, action: Action, actor: Actor) -> Project:
    """Carry out the command, and return the project as it is then.

    A stop that the engine cannot carry out now is recorded and carried out when it can: the status is `unknown` then.
    Raises `ProjectSuspendedError`, `OperationInProgressError`, `OperationLostError` and `EngineError`.
    """
    outcome = "failed"
    try:
        with command_deadline(project.agent_type):
            outcome = _stop(project) if action == Action.STOP else _start(project, action)
    finally:
        project.note(actor, action, outcome)
    return project


def _start(project: Project, action: Action) -> str:
    for _ in range(ATTEMPTS):
        observe_now(project)
        if _has_nothing_to_do(project, action):
            return "nothing to do"
        operation = Operation.RESTART if project.facts().is_up and action == Action.RESTART else Operation.START
        before, wants = Desired(project.desired), {"desired": Desired.RUNNING, **CLEAN_SLATE}
        claim = project.claim(operation, lasting=time_allowed(project), unchanged=True, **wants)
        if claim is not None:
            bring_up(project, claim, otherwise=before)
            return "done"
        project.refresh_from_db()
    raise in_progress(project)


def _has_nothing_to_do(project: Project, action: Action) -> bool:
    """By the control table; what stands in the way is raised."""
    facts = project.facts()
    match judge_action(action, status=project.status, operation=facts.operation, suspended=facts.suspended):
        case Verdict.SUSPENDED:
            raise ProjectSuspendedError(f"“{project.name}” is suspended. Ask the staff to lift the suspension.")
        case Verdict.CONFLICT:
            raise in_progress(project)
        case verdict:
            return verdict == Verdict.NOTHING


def _stop(project: Project) -> str:
    claim = claim_stop(project, desired=Desired.STOPPED)
    try:
        take_down(project, claim)
    except EngineUnavailableError:
        project.record(claim)
        return "recorded"
    except EngineError as error:
        project.record(claim, failure_code=failure_code(error), failed_at=timezone.now())
        raise
    return "done"
