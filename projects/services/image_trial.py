"""Carries out an update of an agent's image, step by step (`projects.rules.image_update`).

Every step may be repeated. What the next one needs is in the row before it begins, so that a killed watcher loses
nothing: while there is a `former_image_id`, there is a whole copy of the state.
"""

from datetime import timedelta
from typing import Any

from accounts import clock
from containers.errors import EngineError, EngineUnavailableError
from containers.get_engine import get_engine
from projects.models import Project
from projects.models.event import SYSTEM
from projects.models.image_update import NO_UPDATE
from projects.models.operation import Claim
from projects.rules.image_update import Due, Step, choose_due
from projects.rules.lifecycle import Desired, Operation
from projects.services.container_spec import labels_of
from projects.services.image_update import NEW_IMAGE, describe_error
from projects.services.operations import (
    NO_FAILURES,
    Outcome,
    command_deadline,
    record_outcome,
    released_if_broken,
    time_allowed,
)
from projects.services.runs import keep_run
from projects.services.start_and_stop import bring_up

WITHIN = 72.0
"""Seconds for all that a step asks of the engine: to stop an agent, to copy what it keeps, and to start it."""

NOT_COPIED = "What it keeps could not be copied, so the old image runs again: {}"
NOT_STARTED = "The new image could not be started, so the old one runs again: {}"
NOT_READY = "The new image was not ready within {} seconds, so the old one runs again"
ENDED = "The new image ended, so the old one runs again"


def carry_on(project: Project) -> bool:
    """Does what is due. Returns whether anything was done; False where another operation has begun since.

    Raises `EngineError` and what `bring_up` raises.
    """
    match choose_due(project.facts()):
        case Due.TRY:
            return _try(project)
        case Due.KEEP:
            return _keep(project)
        case Due.GO_BACK:
            return _go_back(project)
        case None:
            return False


def _claim(project: Project, **values: Any) -> Claim | None:
    return project.claim(Operation.RESTART, lasting=time_allowed(seconds=WITHIN), unchanged=True, **values)


def _try(project: Project) -> bool:
    claim = _claim(project)
    if claim is None:
        return False
    with released_if_broken(project, claim), command_deadline(WITHIN):
        try:
            get_engine().stop(project.container_key, timeout=project.agent_type.stop_timeout)
            labels = labels_of(project)
            get_engine().keep_copy(project.container_key, image=project.agent_type.image, labels=labels)
        except EngineError as error:
            return _turn_back(project, claim, Outcome(), NOT_COPIED.format(describe_error(error)))
        if not _note_copy(project, claim):
            return False
        outcome = bring_up(project, claim, desired_if_silent=Desired.RUNNING)
    if outcome.error is not None:
        return _turn_back(project, claim, outcome, NOT_STARTED.format(describe_error(outcome.error)))
    until = clock.now() + timedelta(seconds=project.agent_type.ready_timeout)
    event = project.event(SYSTEM, NEW_IMAGE, "started")
    record_outcome(project, claim, outcome, events=[event], update_until=until)
    return True


def _note_copy(project: Project, claim: Claim) -> bool:
    """From now on there is a way back. Returns whether the claim still holds."""
    values = {"update_step": Step.TRIAL, "former_image_id": project.image_id, "image_id": project.next_image_id}
    if not Project.objects.filter(pk=project.pk, operation_id=claim.id).update(**values):
        return False
    for name, value in values.items():
        setattr(project, name, value)
    return True


def _turn_back(project: Project, claim: Claim, outcome: Outcome, why: str) -> bool:
    """Ends this step with what is known of the container, and without the failure: the next step is the way back."""
    seen = {name: value for name, value in outcome.values.items() if name not in NO_FAILURES and name != "image_id"}
    event = project.event(SYSTEM, NEW_IMAGE, "given up", detail=why)
    record_outcome(project, claim, Outcome(values=seen), events=[event], update_step=Step.BACK)
    return True


def _keep(project: Project) -> bool:
    get_engine().drop_copy(project.container_key)
    rows = Project.objects.filter(pk=project.pk, operation="", generation=project.generation, update_step=Step.TRIAL)
    if not rows.update(**NO_UPDATE):
        return False
    project.event(SYSTEM, NEW_IMAGE, "done").save()
    return True


def _go_back(project: Project) -> bool:
    begins = project.update_step == Step.TRIAL
    why = _why(project)
    claim = _claim(project, update_step=Step.BACK, **NO_FAILURES)
    if claim is None:
        return False
    if begins:
        project.event(SYSTEM, NEW_IMAGE, "given up", detail=why).save()
    with released_if_broken(project, claim), command_deadline(WITHIN):
        if project.former_image_id:
            _take_away(project)
            get_engine().return_copy(project.container_key, image=project.agent_type.image)
            project.image_id = project.former_image_id
        outcome = bring_up(project, claim, desired_if_silent=Desired.RUNNING)
        if not isinstance(outcome.error, EngineUnavailableError):
            get_engine().drop_copy(project.container_key)
    return _record_return(project, claim, outcome)


def _record_return(project: Project, claim: Claim, outcome: Outcome) -> bool:
    if isinstance(outcome.error, EngineUnavailableError):
        record_outcome(project, claim, outcome)
        raise outcome.error
    event = project.event(SYSTEM, NEW_IMAGE, "failed" if outcome.error else "undone")
    values = {"image_id": project.image_id} | outcome.values
    record_outcome(project, claim, Outcome(values=values), events=[event], **NO_UPDATE)
    return True


def _why(project: Project) -> str:
    """In plain words, as the row tells it before the way back begins."""
    facts = project.facts()
    if facts.is_up:
        reason, sentence = project.explain(facts), NOT_READY.format(project.agent_type.ready_timeout)
    else:
        reason, sentence = project.reason, ENDED
    return f"{sentence}. {reason.message}" if reason else sentence


def _take_away(project: Project) -> None:
    """Stops the agent, keeps the log of the run, and removes its container."""
    engine = get_engine()
    engine.stop(project.container_key, timeout=project.agent_type.stop_timeout)
    if ended := engine.inspect(project.container_key):
        keep_run(project, ended)
    engine.remove(project.container_key)
