"""Carries out the remedies that the rules choose. Each is an operation: claim, act, and record with its event."""

import logging
from datetime import timedelta
from typing import Any

from django.db import transaction

from accounts import clock
from containers.errors import AddressUnusableError, AlteredError, EngineUnavailableError
from containers.get_engine import get_engine
from containers.vocabulary import ContainerState
from projects.models import Event, Project
from projects.models.event import SYSTEM
from projects.models.operation import Claim
from projects.rules.status.lifecycle import UNPROTECTED, Desired, Operation
from projects.rules.status.remedies import Remedy
from projects.services.commands.deletion import claim_deletion, finish_deletion, remove_container
from projects.services.commands.start_and_stop import bring_up, take_down
from projects.services.images.trial import carry_on
from projects.services.operations import (
    Outcome,
    failure,
    record_outcome,
    released_if_broken,
    repair_within,
    time_allowed,
)

log = logging.getLogger(__name__)


def carry_out(remedy: Remedy, project: Project) -> bool:
    """Returns whether the project was repaired; False if another operation has begun since it was read.

    Raises `EngineError` and `SecretUnreadableError` after recording them as the outcome. Also raises
    `OperationLostError` and `ProjectGoneError`.
    """
    match remedy:
        case Remedy.FINISH_DELETION:
            return _finish_deletion(project)
        case Remedy.TAKE_DOWN | Remedy.GIVE_UP | Remedy.STOP_UNPROTECTED:
            return _stop(project, remedy, **_why_stopped(remedy))
        case Remedy.BRING_BACK | Remedy.RECREATE:
            is_new = remedy is Remedy.RECREATE
            return _start(project, remedy, **({"recreated_at": clock.now()} if is_new else {}))
        case Remedy.REALIGN:
            return _realign(project)
        case Remedy.UPDATE:
            return carry_on(project)
        case Remedy.DECLARE_FAILED:
            return _declare_failed(project)


def _why_stopped(remedy: Remedy) -> dict[str, Any]:
    match remedy:
        case Remedy.GIVE_UP:
            return {"gave_up_at": clock.now()}
        case Remedy.STOP_UNPROTECTED:
            return failure(UNPROTECTED)
        case _:
            return {}


def _time_allowed(project: Project) -> timedelta:
    return time_allowed(seconds=repair_within(project.agent_type))


def _finish_deletion(project: Project) -> bool:
    claim = claim_deletion(project, seconds=repair_within(project.agent_type))
    if claim is None:
        return False
    with released_if_broken(project, claim):
        outcome = remove_container(project)
    return finish_deletion(project, claim, outcome, events=_events(Remedy.FINISH_DELETION, project, outcome))


def _stop(project: Project, remedy: Remedy, **values: Any) -> bool:
    """Stops the container. Writes `values` with the claim, so that they are kept even if the engine stops answering."""
    claim = _claim_stop(project, remedy, **values)
    if claim is None:
        return False
    with released_if_broken(project, claim):
        outcome = take_down(project, claim)
    is_told = remedy is Remedy.GIVE_UP and outcome.error is None
    record_outcome(project, claim, outcome, events=() if is_told else _events(remedy, project, outcome))
    if outcome.error is not None:
        raise outcome.error
    return True


def _claim_stop(project: Project, remedy: Remedy, **values: Any) -> Claim | None:
    """Claims the project for a stop. Giving up an agent takes effect with the claim, so its event is written with it.

    If the engine then stops answering or the watcher is killed, only taking the container down is left to do.
    """
    with transaction.atomic():
        claim = project.claim(Operation.STOP, lasting=_time_allowed(project), unchanged=True, **values)
        if claim is not None and remedy is Remedy.GIVE_UP:
            project.event(SYSTEM, remedy, "done").save()
    return claim


def _start(project: Project, remedy: Remedy, **values: Any) -> bool:
    """Starts the agent. Writes `values` if it succeeds."""
    # Start an ended container as it is instead of replacing it: the whole engine may be about to end, and must find a
    # container that it can start when it comes back.
    renew = project.container_state != ContainerState.EXITED
    claim = project.claim(Operation.START, lasting=_time_allowed(project), unchanged=True, renew=renew)
    if claim is None:
        return False
    with released_if_broken(project, claim):
        outcome = bring_up(project, claim, desired_if_silent=Desired(project.desired))
    events = _events(remedy, project, outcome)
    if outcome.error is not None:
        record_outcome(project, claim, outcome, events=events)
        raise outcome.error
    if outcome.values["container_id"] == project.container_id:
        values["brought_back"] = project.brought_back + 1
    if project.failure_code == UNPROTECTED:
        values |= {"failure_code": "", "failed_at": None}
    record_outcome(project, claim, outcome, events=events, **values)
    return True


def _realign(project: Project) -> bool:
    """Undoes changes to the container from outside. Claims nothing, because the agent keeps running.

    Creates the container again if it cannot get its address back, or if the changes cannot be undone. A container that
    should be down stays as it is, because its next start creates it again.
    """
    try:
        repaired = get_engine().realign(project.container_key)
    except AddressUnusableError:
        return _start(project, Remedy.REALIGN)
    except AlteredError as error:
        log.warning("%s is not as Berth made it: %s", project.container_name, error)
        if not project.awaits_container:
            raise  # recorded in the row, and tried again with growing pauses
        return _start(project, Remedy.REALIGN)
    if repaired:  # otherwise it is gone by now, or was repaired meanwhile
        what = ", ".join(repaired)
        log.warning("%s was changed from outside, and was repaired: %s.", project.container_name, what)
        project.event(SYSTEM, Remedy.REALIGN, "done", detail=what).save()
    return True


def _declare_failed(project: Project) -> bool:
    rows = Project.objects.filter(pk=project.pk, operation="", generation=project.generation)
    with transaction.atomic():
        if not rows.update(**failure("vanished")):
            return False
        project.event(SYSTEM, Remedy.DECLARE_FAILED, "done").save()
    return True


def _events(remedy: Remedy, project: Project, outcome: Outcome) -> list[Event]:
    """Returns no events if the engine did not answer, because the next round tries again."""
    if isinstance(outcome.error, EngineUnavailableError):
        return []
    return [project.event(SYSTEM, remedy, "failed" if outcome.error else "done")]
