"""Starts, stops and restarts projects."""

import time

from django.db import transaction

from accounts import clock
from containers.errors import EngineError, EngineUnavailableError, StillStoppingError
from projects.errors import ProjectGoneError, ProjectSuspendedError
from projects.models import Actor, Plan, Project
from projects.models.columns.reconciliation import NO_TROUBLE
from projects.models.operation import Claim
from projects.rules.bot import CLAIMED
from projects.rules.status.control import Verdict, judge_action
from projects.rules.status.lifecycle import Action, Desired, Operation
from projects.services.bulkheads import COMMANDS, takes_place
from projects.services.commands.admission import check_claim
from projects.services.commands.container_prefetch import ContainerPrefetch
from projects.services.commands.start_and_stop import bring_up, take_down
from projects.services.limits.capacity import learn_host_memory, reserve_memory
from projects.services.limits.disk import check_room
from projects.services.observation import observe_now
from projects.services.operations import (
    NO_FAILURES,
    ForeseenError,
    Outcome,
    claim_stop,
    command_deadline,
    failure,
    failure_code,
    operation_in_progress,
    record_outcome,
    released_if_broken,
    time_allowed,
    want_stopped,
)

ATTEMPTS = 5
"""How often a start tries again because another operation began or ended meanwhile."""

PATIENCE = 3.0
"""Seconds for which a start waits while the watcher takes the agent down, which takes it a moment."""

_LOOK_AGAIN = 0.05


def control_project(*, project: Project, action: Action, actor: Actor) -> Project:
    """Carries out the command and returns the updated project.

    A stop that cannot finish now is recorded, and the watcher finishes it: if the engine does not answer, if the agent
    takes longer to end than a response may, or if the actor has the maximum number of commands under way.
    Raises `NoPlaceError`, `ProjectSuspendedError`, `DiskFullError`, `NoCapacityError`, `OperationInProgressError`,
    `OperationLostError`, `SecretUnreadableError`, `UnusableSettingsError` and `EngineError`.
    """
    try:
        error = _stop(project, actor) if action == Action.STOP else _start(project, action, actor=actor)
    except Exception:
        # It was refused or lost to another command, so no outcome was recorded. Save the event by itself.
        project.event(actor, action, "failed").save()
        raise
    if error is not None:
        raise error
    return project


@takes_place
def _start(project: Project, action: Action, *, actor: Actor) -> ForeseenError | None:
    """Returns the error that was recorded as the outcome, if any."""
    with command_deadline():
        return _start_in_time(project, action, actor)


def _start_in_time(project: Project, action: Action, actor: Actor) -> ForeseenError | None:
    for _ in range(ATTEMPTS):
        _let_watcher_finish(project)
        seen = observe_now(project)
        if _has_nothing_to_do(project, action):
            project.event(actor, action, "nothing to do").save()
            return None
        learn_host_memory()
        before, claim = Desired(project.desired), _claim_start(project, action)
        if claim is not None:
            with released_if_broken(project, claim):
                outcome = bring_up(project, claim, desired_if_silent=before, seen=seen)
            event = project.event(actor, action, "failed" if outcome.error else "done")
            record_outcome(project, claim, outcome, events=[event])
            return outcome.error
        project.refresh_from_db()
    raise operation_in_progress(project)


def _let_watcher_finish(project: Project) -> None:
    """Waits until the watcher has taken a crashed agent down. Its owner sees the crash, but not that work goes on."""
    until = time.monotonic() + PATIENCE
    while project.facts().is_being_given_up and time.monotonic() < until:
        time.sleep(_LOOK_AGAIN)
        project.refresh_from_db()


def _claim_start(project: Project, action: Action) -> Claim | None:
    is_restart = action == Action.RESTART and project.facts().is_up
    with transaction.atomic():
        # Read the plan again, because another request may have changed it since this project was read.
        reserved = reserve_memory(project_id=project.pk, plan=_plan_of(project))
        return project.claim(
            Operation.RESTART if is_restart else Operation.START,
            lasting=time_allowed(),
            unchanged=True,
            unless_suspended=True,
            desired=Desired.RUNNING,
            **reserved,
            sees_from=clock.now(),
            **NO_FAILURES,
        )


def _plan_of(project: Project) -> Plan:
    plan = Plan.objects.filter(projects=project.pk).first()
    if plan is None:
        raise ProjectGoneError
    return plan


def _has_nothing_to_do(project: Project, action: Action) -> bool:
    """Returns whether the control table says that there is nothing to do. Raises an error if it refuses the command."""
    facts = project.facts()
    if action != Action.STOP and project.failure_code == CLAIMED:
        check_claim(project)
    match judge_action(action, status=project.status, operation=facts.operation, suspended=facts.suspended):
        case Verdict.SUSPENDED:
            raise ProjectSuspendedError(f"“{project.name}” is suspended. Ask the staff to lift the suspension.")
        case Verdict.CONFLICT:
            raise operation_in_progress(project)
        case Verdict.NOTHING:
            return True
        case _:
            check_room(project)
            return False


def _stop(project: Project, actor: Actor) -> ForeseenError | None:
    """Returns the error that was recorded as the outcome, or None if the stop is done or left to the watcher."""
    stopped = {"desired": Desired.STOPPED, **NO_TROUBLE}
    if not COMMANDS.try_take(actor.label):
        want_stopped(project, project.event(actor, Action.STOP, "recorded"), **stopped)
        return None
    try:
        with command_deadline():
            looking = ContainerPrefetch(project)
            claim = claim_stop(project, **stopped)
            if claim is None:
                project.event(actor, Action.STOP, "recorded").save()
                return None
            with released_if_broken(project, claim):
                outcome = take_down(project, claim, looking.if_undisturbed())
        return _record_stop(project, claim, outcome, actor)
    finally:
        COMMANDS.give_back(actor.label)


def _record_stop(project: Project, claim: Claim, outcome: Outcome, actor: Actor) -> ForeseenError | None:
    match outcome.error:
        case None:
            record_outcome(project, claim, outcome, events=[project.event(actor, Action.STOP, "done")])
        case EngineUnavailableError() | StillStoppingError():
            record_outcome(project, claim, outcome, events=[project.event(actor, Action.STOP, "recorded")])
            return None
        case EngineError() as error:
            event = project.event(actor, Action.STOP, "failed")
            record_outcome(project, claim, outcome, events=[event], **failure(failure_code(error)))
    return outcome.error
