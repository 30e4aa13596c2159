"""Returns an agent from a new image to its old one and its old memory (`projects.rules.status.image_update`)."""

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Q

from accounts import clock
from containers.errors import (
    ContainerSilentError,
    EngineError,
    EngineUnavailableError,
    ImageMissingError,
    ImageUnusableError,
)
from containers.get_engine import get_engine
from containers.vocabulary import ContainerState
from projects.models import Project
from projects.models.columns.image_update import NO_UPDATE, ONLY_COPY_LEFT
from projects.models.columns.reconciliation import NO_TROUBLE
from projects.models.event import SYSTEM
from projects.models.operation import Claim
from projects.rules.status.image_update import Step
from projects.rules.status.lifecycle import Desired, Operation
from projects.services.commands.start_and_stop import bring_up
from projects.services.images.update import NEW_IMAGE
from projects.services.operations import (
    NO_FAILURES,
    Outcome,
    command_deadline,
    failure,
    record_outcome,
    released_if_broken,
    time_allowed,
)
from projects.services.reports.runs import keep_run

log = logging.getLogger(__name__)

T = TypeVar("T")

WITHIN = 72.0
"""Seconds for all engine calls of a step: stopping an agent, copying its memory, and starting it."""

TRIES = 8
"""How often in a row the way back may fail. With growing pauses this takes about ten minutes."""

DROP_AGAIN = timedelta(minutes=10)
"""The pause after a copy could not be removed. Nothing waits for the removal."""

NOT_READY = "The new image was not ready within {} seconds, so the old one runs again"
ENDED = "The new image ended, so the old one runs again"
NOT_RUNNING = "The new image does not run, so the old one runs again"
NO_COPY = "There was no copy of what it keeps, so that is left as the new image has left it."
STUCK = "What it kept could not be put back in {} tries. The copy of it is kept. Start it to try again."

_NO_FAILURES = {name: value for name, value in NO_FAILURES.items() if name not in NO_TROUBLE}
"""Without the watcher's failures, so that the number of failed attempts of the way back is kept."""


def claim_step(project: Project, *, only: Q | None = None, **values: Any) -> Claim | None:
    """Claims the project for the step that this object says is next, and only if the row also matches `only`."""
    unchanged = Q(update_step=project.update_step) & (only or Q())
    lasting = time_allowed(seconds=WITHIN)
    return project.claim(Operation.RESTART, lasting=lasting, unchanged=True, only=unchanged, **values)


def note_step(project: Project, claim: Claim, **values: Any) -> bool:
    """Records the progress of an operation. Returns whether the claim is still valid."""
    if not Project.objects.filter(pk=project.pk, operation_id=claim.id).update(**values):
        return False
    for name, value in values.items():
        setattr(project, name, value)
    return True


def through_any_image(project: Project, act: Callable[..., T]) -> T:
    """Calls `act` with an `image` for containers that read or fill a volume, and returns the result.

    Tries the image of the type, then those between which the agent changes: any that is left serves as well. If none
    does, raises the error about the first one.
    """
    first, *others = (project.agent_type.image, project.former_image_id, project.image_id, project.next_image_id)
    try:
        return act(image=first)
    except (ImageMissingError, ImageUnusableError):
        for image in filter(None, others):
            with suppress(ImageMissingError, ImageUnusableError):
                return act(image=image)
        raise


def go_back(project: Project) -> bool:
    """Restores the copy if there is one, and starts the old image. Returns whether it did anything."""
    begins, step = project.update_step == Step.TRIAL, project.update_step
    # A machine that did not answer, however long, is no failure of the way back.
    was_silent = project.reconcile_error == ContainerSilentError.__name__
    if step == Step.BACK and project.reconcile_failures >= TRIES and not was_silent:
        return _give_up(project)
    why, detail = _why(project), ""
    values = NO_FAILURES if begins or was_silent else _NO_FAILURES
    claim = claim_step(project, **values, update_step=Step.BACK if step in {Step.TRIAL, Step.STUCK} else step)
    if claim is None:
        return False
    if begins:
        project.event(SYSTEM, NEW_IMAGE, "given up", detail=why).save()
    with released_if_broken(project, claim), command_deadline(WITHIN):
        if project.update_step == Step.BACK:
            _take_away(project)
            if not through_any_image(project, partial(get_engine().return_copy, project.container_key)):
                detail = NO_COPY
            # From here on the old image may write, so the copy must never be restored again.
            if not note_step(project, claim, update_step=Step.RETURNED, image_id=project.former_image_id):
                return False
        outcome = bring_up(project, claim, desired_if_silent=Desired.RUNNING, or_newest=False)
    return _record_return(project, claim, outcome, detail)


def drop_copy(project: Project) -> bool:
    """Removes the copy after an update, or schedules another attempt. Returns whether it is gone."""
    rows = Project.objects.filter(pk=project.pk, update_step=Step.DROP)
    try:
        get_engine().drop_copy(project.container_key)
    except EngineError as error:
        log.warning("The copy of the memory of %s could not be removed: %s", project.container_name, error)
        rows.update(update_until=clock.now() + DROP_AGAIN)
        return False
    return bool(rows.update(**NO_UPDATE))


def _record_return(project: Project, claim: Claim, outcome: Outcome, detail: str) -> bool:
    if isinstance(outcome.error, EngineUnavailableError):
        record_outcome(project, claim, outcome)
        raise outcome.error
    event = project.event(SYSTEM, NEW_IMAGE, "failed" if outcome.error else "undone", detail=detail)
    values = {"image_id": project.image_id} | outcome.values
    record_outcome(project, claim, Outcome(values=values), events=[event], **ONLY_COPY_LEFT)
    drop_copy(project)
    return True


def _give_up(project: Project) -> bool:
    """Keeps the copy, and leaves the agent down until its owner starts it."""
    rows = Project.objects.filter(pk=project.pk, operation="", generation=project.generation, update_step=Step.BACK)
    values = {"update_step": Step.STUCK, "image_id": project.former_image_id} | failure("copy_not_returned")
    with transaction.atomic():
        if not rows.update(**values):
            return False
        project.event(SYSTEM, NEW_IMAGE, "failed", detail=STUCK.format(TRIES)).save()
    return True


def _why(project: Project) -> str:
    """Returns why the update is given up, in plain words, from the row before the way back begins."""
    facts = project.facts()
    reason = project.explain(facts) if facts.is_up else project.reason
    if facts.state == ContainerState.RUNNING:
        sentence = NOT_READY.format(project.agent_type.ready_timeout)
    elif facts.state == ContainerState.RESTARTING and facts.exit_code is None:
        sentence = NOT_RUNNING  # in a Swarm it may wait for its machine
    else:
        sentence = ENDED
    return f"{sentence}. {reason.message}" if reason else sentence


def _take_away(project: Project) -> None:
    """Stops the agent, keeps the log of the run, and removes its container."""
    engine = get_engine()
    engine.stop(project.container_key, timeout=project.agent_type.stop_timeout)
    if ended := engine.inspect(project.container_key):
        keep_run(project, ended)
    engine.remove(project.container_key)
