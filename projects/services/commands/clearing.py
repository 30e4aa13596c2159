"""Clears an agent's memory: removes its container and the volume of its state, and starts it again."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction

from accounts import clock
from containers.engine import Engine
from containers.errors import ContainerSilentError, EngineError, EngineRefusedError
from containers.get_engine import get_engine
from containers.vocabulary import ContainerState, Observation
from projects.errors import ProjectSuspendedError
from projects.models import Actor, Event, Project
from projects.models.columns.disk_use import emptied
from projects.models.operation import Claim
from projects.rules.bot import BOT_DENIED
from projects.rules.disk import DISK_FULL
from projects.rules.status.control import Verdict, judge_action
from projects.rules.status.lifecycle import Action, Desired, Operation
from projects.services.bulkheads import takes_place
from projects.services.commands.start_and_stop import bring_up
from projects.services.limits.capacity import learn_host_memory, reserve_memory
from projects.services.observation import observe_now
from projects.services.operations import (
    NO_FAILURES,
    ForeseenError,
    Outcome,
    command_deadline,
    operation_in_progress,
    operation_lost,
    record_outcome,
    released_if_broken,
    time_allowed,
)
from projects.services.reports.runs import keep_run

CLEAR = "clear memory"
"""The action of the event."""

CLEARED = "The memory is cleared, but the agent was not started."
"""The detail of the event, and a note of the error, if the agent could not be started afterwards."""

NOBODY_KNOWS = (
    "Nobody knows on which machines the agent's memory is, because its service was removed without a record. Ask the "
    "staff, who find it by its volume (docs/swarm.md), or start the agent: what it remembers then can be cleared."
)


@takes_place
def clear_memory(*, project: Project, actor: Actor) -> Project:
    """Deletes the agent's memory permanently and returns the project. If the agent should run, it starts again.

    Keeps its settings, credentials and the logs of its runs. Raises `NoPlaceError`, `ProjectSuspendedError`,
    `NoCapacityError`, `OperationInProgressError`, `OperationLostError`, `SecretUnreadableError`,
    `UnusableSettingsError` and `EngineError`. If the engine does not answer, repeating the command finishes it. If the
    memory is gone all the same, the error has the note `CLEARED`.
    """
    try:
        with command_deadline():
            error = _clear(project, actor)
    except Exception as error:
        _event(project, actor, error).save()
        raise
    if error is not None:
        raise error
    return project


def _clear(project: Project, actor: Actor) -> ForeseenError | None:
    """Returns the error that was recorded as the outcome, if any."""
    observe_now(project)
    check_may_be_cleared(project)
    learn_host_memory()
    starts = project.desired == Desired.RUNNING and project.failure_code not in BOT_DENIED
    had_state = project.has_state
    claim = _claim(project, starts=starts)
    if claim is None:
        project.refresh_from_db()
        raise operation_in_progress(project)
    with released_if_broken(project, claim):
        outcome = _remove_memory(project, claim, had_state=had_state)
    with released_if_broken(project, claim), _noted(is_cleared=outcome.error is None):
        if outcome.error is None:
            outcome = _deploy_again(project, claim, outcome, starts=starts)
        record_outcome(project, claim, outcome, events=[_event(project, actor, outcome.error)])
    return outcome.error


@contextmanager
def _noted(*, is_cleared: bool) -> Iterator[None]:
    """Adds to an error from the block that the memory is gone."""
    try:
        yield
    except Exception as error:
        if is_cleared:
            error.add_note(CLEARED)
        raise


def _event(project: Project, actor: Actor, error: Exception | None) -> Event:
    """Returns the unsaved event, which tells apart whether the memory or only the start is concerned."""
    is_cleared = CLEARED in getattr(error, "__notes__", ())
    return project.event(
        actor, CLEAR, "failed" if error and not is_cleared else "done", detail=CLEARED if is_cleared else ""
    )


def check_may_be_cleared(project: Project) -> None:
    """Raises the same errors as a restart if the control table refuses the command."""
    facts = project.facts()
    match judge_action(Action.RESTART, status=project.status, operation=facts.operation, suspended=facts.suspended):
        case Verdict.SUSPENDED:
            raise _suspended(project)
        case Verdict.CONFLICT:
            raise operation_in_progress(project)


def _claim(project: Project, *, starts: bool) -> Claim | None:
    """Claims the project. Former failures stay until the memory is gone, because the agent must not run before.

    The memory also has the used pairing codes, so a new secret must invalidate all codes. `has_state=False` prevents
    an event about lost memory.
    """
    pairing = project.encrypt_pairing_secret(in_force_from=project.generation + 1) if project.pairs else {}
    with transaction.atomic():
        reserved = reserve_memory(project_id=project.pk, plan=project.plan) if starts else {}
        return project.claim(
            Operation.RESTART if starts else Operation.STOP,
            lasting=time_allowed(),
            unchanged=True,
            unless_suspended=True,
            has_state=False,
            **reserved,
            **pairing,
        )


def _remove_memory(project: Project, claim: Claim, *, had_state: bool) -> Outcome:
    engine = get_engine()
    try:
        if had_state and not engine.knows_state(project.container_key):
            return Outcome(error=EngineRefusedError(NOBODY_KNOWS), values={"has_state": True})
        engine.stop(project.container_key, timeout=project.agent_type.stop_timeout, for_good=True)
        _check_still_wanted(project, claim)
        ended = _inspect(engine, project)
        if ended is not None and ended.state is not ContainerState.CREATED:
            keep_run(project, ended)
        engine.remove(project.container_key, volumes=True)
    except EngineError as error:
        return Outcome(error=error)
    now = clock.now()
    return Outcome(values={**emptied(now), **project.observed_values(None), "observed_at": now})


def _inspect(engine: Engine, project: Project) -> Observation | None:
    """Inspects the container. Also returns None if the engine cannot reach its machine; then its log is not read."""
    try:
        return engine.inspect(project.container_key)
    except ContainerSilentError:
        return None


def _check_still_wanted(project: Project, claim: Claim) -> None:
    """Raises if another operation has taken over the project while its agent ended, which may take long.

    The memory of a suspended project must be kept, and a newly started agent is not the one to clear.
    """
    row = Project.objects.select_related("owner").filter(pk=project.pk).first()
    if row is not None and row.is_suspended:
        raise _suspended(project)
    if row is None or row.operation_id != claim.id:
        raise operation_lost(project)


def _suspended(project: Project) -> ProjectSuspendedError:
    return ProjectSuspendedError(
        f"“{project.name}” is suspended and stays as it is until the staff lift the suspension. Ask them."
    )


def _deploy_again(project: Project, claim: Claim, cleared: Outcome, *, starts: bool) -> Outcome:
    """Starts the agent or leaves it down, and returns the outcome with the empty memory."""
    forgotten: dict[str, Any] = {"failure_code": "", "failed_at": None} if project.failure_code == DISK_FULL else {}
    if not starts:
        return Outcome(values=cleared.values | forgotten)
    begun = bring_up(project, claim, desired_if_silent=Desired.RUNNING)
    if begun.error is not None:
        begun.error.add_note(CLEARED)
    return Outcome(values=cleared.values | NO_FAILURES | begun.values, error=begun.error)
