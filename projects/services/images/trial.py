"""Carries out an update of an agent's image, step by step (`projects.rules.status.image_update`).

Every step may be repeated. Everything that the next step needs is in the row before it begins, so that a killed watcher
loses nothing.
"""

from datetime import timedelta
from functools import partial

from django.db import transaction
from django.db.models import Q

from accounts import clock
from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError
from containers.get_engine import get_engine
from containers.outbound.call_limits import seconds_left
from containers.vocabulary import ContainerState
from projects.models import Project
from projects.models.columns.image_update import NO_UPDATE, ONLY_COPY_LEFT
from projects.models.event import SYSTEM
from projects.models.operation import Claim
from projects.rules.status.image_update import Due, Step, choose_due
from projects.rules.status.lifecycle import Desired
from projects.services.commands.start_and_stop import bring_up
from projects.services.container_spec import labels_of
from projects.services.images.rollback import WITHIN, claim_step, drop_copy, go_back, note_step, through_any_image
from projects.services.images.update import NEW_IMAGE, PINNED, describe_error
from projects.services.inventory.memory import most_in_archive
from projects.services.operations import NO_FAILURES, Outcome, command_deadline, record_outcome, released_if_broken

COPY_WITHIN = WITHIN / 2
"""Seconds for the copy. The way back may need as long again, on a disk that may be slower by then."""

NOT_COPIED = "What it keeps could not be copied, so the old image runs again: {}"
TOO_SLOW = "It takes longer than the {} seconds that there are for it."
NOT_STARTED = "The new image could not be started, so the old one runs again: {}"
NOT_KNOWN = "Which image it runs now is not known, so there would be no way back to it. Restart it, then try again."


def carry_on(project: Project) -> bool:
    """Carries out the step that is due. Returns whether it did; also False if another operation has begun since.

    Raises `EngineError` and what `bring_up` raises.
    """
    match choose_due(project.facts()):
        case Due.TRY:
            return _try(project)
        case Due.KEEP:
            return _keep(project)
        case Due.GO_BACK if project.update_step == Step.TRIAL and _has_ended_with_engine(project):
            return _start_again(project)
        case Due.GO_BACK:
            return go_back(project)
        case Due.DROP:
            return drop_copy(project)
        case None:
            return False


def _try(project: Project) -> bool:
    former = project.image_id or _find_image(project)
    if project.keeps_image or former in {"", project.next_image_id}:
        return _call_off(project, former)
    claim = claim_step(project, only=Q(keeps_image=False), image_id=former)
    if claim is None:
        return False
    with released_if_broken(project, claim), command_deadline(WITHIN):
        try:
            _keep_copy(project)
        except EngineError as error:
            return _turn_back(project, claim, Outcome(), NOT_COPIED.format(describe_error(error)), step=Step.UNTRIED)
        values = {"former_image_id": former, "image_id": project.next_image_id}
        if not note_step(project, claim, update_step=Step.TRIAL, **values):
            return False
        outcome = bring_up(project, claim, desired_if_silent=Desired.RUNNING)
    return _record_start(project, claim, outcome)


def _record_start(project: Project, claim: Claim, outcome: Outcome) -> bool:
    if outcome.error is not None:
        why = NOT_STARTED.format(describe_error(outcome.error))
        return _turn_back(project, claim, outcome, why, step=Step.BACK)
    until = clock.now() + timedelta(seconds=project.agent_type.ready_timeout)
    event = project.event(SYSTEM, NEW_IMAGE, "started")
    record_outcome(project, claim, outcome, events=[event], update_until=until)
    return True


def _has_ended_with_engine(project: Project) -> bool:
    """Returns whether the agent ended together with the engine or the machine, which says nothing about its image."""
    if project.container_state != ContainerState.EXITED or project.finished_at is None:
        return False
    started_at = get_engine().started_at()
    return started_at is not None and project.finished_at <= started_at


def _start_again(project: Project) -> bool:
    claim = claim_step(project)
    if claim is None:
        return False
    with released_if_broken(project, claim), command_deadline(WITHIN):
        outcome = bring_up(project, claim, desired_if_silent=Desired.RUNNING)
    return _record_start(project, claim, outcome)


def _find_image(project: Project) -> str:
    """Returns the image of a project that was last deployed before rows had it; empty if it has no container."""
    seen = get_engine().inspect(project.container_key)
    return seen.image_id if seen else ""


def _call_off(project: Project, former: str) -> bool:
    """Ends an update that cannot begin: staff pinned the image, it already is the newest, or it is unknown."""
    why = PINNED.format(project.name) if project.keeps_image else "" if former else NOT_KNOWN
    outcome = "failed" if why else "nothing to do"
    rows = Project.objects.filter(pk=project.pk, operation="", generation=project.generation, update_step=Step.COPY)
    with transaction.atomic():
        if not rows.update(**NO_UPDATE, image_id=former):
            return False
        project.event(SYSTEM, NEW_IMAGE, outcome, detail=why).save()
    return True


def _keep_copy(project: Project) -> None:
    engine = get_engine()
    engine.stop(project.container_key, timeout=project.agent_type.stop_timeout)
    most = most_in_archive(project)
    with command_deadline(COPY_WITHIN):
        try:
            keep = partial(engine.keep_copy, project.container_key, labels=labels_of(project), most=most)
            through_any_image(project, keep)
        except EngineUnavailableError as error:
            left = seconds_left()
            if left is None or left > 0:
                raise
            raise EngineRefusedError(TOO_SLOW.format(int(COPY_WITHIN))) from error


def _turn_back(project: Project, claim: Claim, outcome: Outcome, why: str, *, step: Step) -> bool:
    """Ends this step with the observation but without the failure, and sets the first `step` of the way back."""
    seen = {name: value for name, value in outcome.values.items() if name not in NO_FAILURES and name != "image_id"}
    event = project.event(SYSTEM, NEW_IMAGE, "given up", detail=why)
    record_outcome(project, claim, Outcome(values=seen), events=[event], update_step=step)
    return True


def _keep(project: Project) -> bool:
    """Keeps the new image. Removes the copy only after the row says that it is no longer needed."""
    rows = Project.objects.filter(pk=project.pk, operation="", generation=project.generation, update_step=Step.TRIAL)
    with transaction.atomic():
        if not rows.update(**ONLY_COPY_LEFT):
            return False
        project.event(SYSTEM, NEW_IMAGE, "done").save()
    drop_copy(project)
    return True
