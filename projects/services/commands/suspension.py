"""Suspends projects for staff. The container of a suspended project is down until the suspension is lifted."""

from typing import Any

from django.db import transaction

from accounts import clock
from containers.errors import EngineUnavailableError, StillStoppingError
from projects.errors import NoPlaceError
from projects.models import Actor, Project
from projects.models.columns.reconciliation import NO_TROUBLE
from projects.rules.status.lifecycle import Action, Desired
from projects.services.bulkheads import COMMANDS
from projects.services.commands.control import control_project
from projects.services.commands.start_and_stop import take_down
from projects.services.gateway.synchronization import notify_gateway
from projects.services.operations import (
    ForeseenError,
    claim_stop,
    command_deadline,
    record_outcome,
    released_if_broken,
    want_stopped,
)


def suspend_project(*, project: Project, actor: Actor, because: str = "") -> Project:
    """Stops the container and keeps it down. The owner's desired state is kept until the suspension is lifted.

    The gateway is told at once, even if another stop is in flight.

    `because` is a sentence for the owner, of at most 200 characters.

    Raises `OperationInProgressError`, `OperationLostError` and `EngineError`.
    """
    try:
        error = _suspend(project, actor, because)
    except Exception:
        # It was refused or lost to a deletion, so no outcome was recorded. Save the event by itself.
        project.event(actor, "suspend", "failed", detail=because).save()
        raise
    if error is not None:
        raise error
    return project


def _suspend(project: Project, actor: Actor, because: str) -> ForeseenError | None:
    """Returns the error that was recorded as the outcome, or None if the stop is done or left to the watcher."""
    suspended = {"suspended_at": clock.now(), "suspended_because": because, **NO_TROUBLE}
    try:
        with COMMANDS.take(actor.label):
            return _stop_suspended(project, actor, **suspended)
    except NoPlaceError:
        want_stopped(project, project.event(actor, "suspend", "recorded", detail=because), **suspended)
        notify_gateway(project)
        return None


def _stop_suspended(project: Project, actor: Actor, **suspended: Any) -> ForeseenError | None:
    claim = claim_stop(project, **suspended)
    if claim is None:
        project.event(actor, "suspend", "recorded", detail=suspended["suspended_because"]).save()
        notify_gateway(project)  # the stop in flight lets the agent finish its reply
        return None
    with released_if_broken(project, claim), command_deadline():
        outcome = take_down(project, claim)
    is_silent = isinstance(outcome.error, EngineUnavailableError | StillStoppingError)
    word = "recorded" if is_silent else "failed" if outcome.error else "done"
    event = project.event(actor, "suspend", word, detail=suspended["suspended_because"])
    record_outcome(project, claim, outcome, events=[event])
    return None if is_silent else outcome.error


def lift_suspension(*, project: Project, actor: Actor) -> Project:
    """Lifts the suspension, and starts the project if its owner wants it to run."""
    with transaction.atomic():
        Project.objects.filter(pk=project.pk).update(suspended_at=None, suspended_because="", updated_at=clock.now())
        project.event(actor, "lift suspension", "done").save()
    project.refresh_from_db()
    if project.desired == Desired.RUNNING and not project.is_suspended:
        return control_project(project=project, action=Action.START, actor=actor)
    return project
