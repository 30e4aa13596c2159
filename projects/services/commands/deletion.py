"""Deletes projects. The row is deleted once the container, its volumes and its secrets are confirmed gone."""

from collections.abc import Iterable
from typing import Any

from containers.engine.lists import Prefetch
from containers.errors import EngineError, EngineUnavailableError, StillStoppingError
from containers.get_engine import get_engine
from projects.errors import ProjectSuspendedError
from projects.models import Actor, Event, Project
from projects.models.columns.reconciliation import NO_TROUBLE
from projects.models.event import SYSTEM
from projects.models.operation import Claim
from projects.rules.status.lifecycle import PREEMPTED_BY, Desired, Operation
from projects.rules.status.remedies import Remedy
from projects.services.bulkheads import COMMANDS
from projects.services.commands.container_prefetch import ContainerPrefetch
from projects.services.gateway.synchronization import GatewayNotification
from projects.services.operations import (
    ANSWER_WITHIN,
    Outcome,
    command_deadline,
    operation_in_progress,
    released_if_broken,
    time_allowed,
)

NOBODY_KNOWS = (
    "Nobody knows on which machines the agent's memory was, because its service was removed without a record. It may "
    "still be there: the staff find it by its volume (docs/swarm.md)."
)


def delete_project(*, project: Project, actor: Actor, by_staff: bool = False) -> bool:
    """Deletes the project. Returns whether it is gone.

    If not, it is `deleting`, and the watcher removes it: the engine does not answer, the agent takes longer to end than
    a response may, or the actor has the maximum number of commands under way.

    Only staff may delete a suspended project: otherwise its owner would get the bot and the place in the plan back, and
    staff could no longer see why they suspended it. Raises `ProjectSuspendedError`, `OperationInProgressError`,
    `ProjectGoneError` and `EngineError`.
    """
    if project.is_suspended and not by_staff:
        return _record_refusal(project, actor)
    if not COMMANDS.try_take(actor.label):
        claim = claim_deletion(project, unless_suspended=not by_staff, **NO_TROUBLE)
        if claim is None:
            return _record_refusal(project, actor)
        project.record(claim, events=[project.event(actor, "delete", "recorded")])
        return False
    try:
        with command_deadline():
            looking = ContainerPrefetch(project)
            claim = claim_deletion(project, unless_suspended=not by_staff, **NO_TROUBLE)
            if claim is None:
                return _record_refusal(project, actor)
            with released_if_broken(project, claim, events=[project.event(actor, "delete", "failed")]):
                outcome = remove_container(project, looking.if_undisturbed())
    finally:
        COMMANDS.give_back(actor.label)
    is_silent = isinstance(outcome.error, EngineUnavailableError | StillStoppingError)
    message = "recorded" if is_silent else "failed" if outcome.error else "done"
    return finish_deletion(project, claim, outcome, events=[project.event(actor, "delete", message)])


def record_deletion(project: Project, actor: Actor) -> bool:
    """Records a deletion for the watcher. Raises `ProjectGoneError`.

    Records nothing and returns False if an operation that does not give way is in flight, or the project is suspended.
    """
    claim = claim_deletion(project, unless_suspended=True, **NO_TROUBLE)
    return claim is not None and project.record(claim, events=[project.event(actor, "delete", "recorded")])


def claim_deletion(
    project: Project, *, seconds: float = ANSWER_WITHIN, unless_suspended: bool = False, **values: Any
) -> Claim | None:
    """Claims the project for a deletion that waits for the engine for this many seconds."""
    return project.claim(
        Operation.DELETE,
        lasting=time_allowed(seconds=seconds),
        preempting=PREEMPTED_BY[Operation.DELETE],
        unless_suspended=unless_suspended,
        desired=Desired.DELETED,
        **values,
    )


def _record_refusal(project: Project, actor: Actor) -> bool:
    """Returns False if another deletion is under way. Raises `ProjectSuspendedError`, or `OperationInProgressError` if
    the suspension has just been lifted.
    """
    project.refresh_from_db()
    is_deleted = project.desired == Desired.DELETED
    project.event(actor, "delete", "recorded" if is_deleted else "failed").save()
    if not is_deleted:
        check_may_be_deleted(project)
        raise operation_in_progress(project)
    return False


def check_may_be_deleted(project: Project) -> None:
    """Raises `ProjectSuspendedError` if the owner may not delete the project."""
    if project.is_suspended:
        raise ProjectSuspendedError(f"“{project.name}” is suspended and cannot be deleted. Ask the staff.")


def remove_container(project: Project, prefetch: Prefetch = list) -> Outcome:
    """Removes the container, its volumes and its secrets, and tells the gateway that its credentials are void.

    `prefetch` is as for the engine's `stop`.
    """
    notification = GatewayNotification(project) if project.has_virtual_credentials else None
    engine = get_engine()
    try:
        is_known = not project.has_state or engine.knows_state(project.container_key)
        engine.stop(project.container_key, timeout=project.agent_type.stop_timeout, prefetch=prefetch, for_good=True)
        engine.remove(project.container_key, volumes=True)
    except EngineError as error:
        return Outcome(error=error)
    finally:
        if notification is not None:
            notification.finish()
    return Outcome(warning="" if is_known else NOBODY_KNOWS)


def finish_deletion(project: Project, claim: Claim, outcome: Outcome, *, events: Iterable[Event] = ()) -> bool:
    """Deletes the row, or ends the operation if something is left, and writes the events with it.

    Every deletion leaves an event. Without it, a container that the engine creates late would look like that of a
    project of a newer database, which blocks all repairs.

    Returns whether the row was deleted. Raises the outcome's error unless the engine merely did not answer.
    """
    if outcome.error is None:
        recorded = list(events) or [project.event(SYSTEM, Remedy.FINISH_DELETION, "done")]
        if outcome.warning:
            recorded.append(project.event(SYSTEM, "delete", "warning", detail=outcome.warning))
        return project.record_deletion(claim, events=recorded)
    project.record(claim, events=events)
    if not isinstance(outcome.error, EngineUnavailableError | StillStoppingError):
        raise outcome.error
    return False
