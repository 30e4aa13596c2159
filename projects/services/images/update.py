"""Updates of agents' images, with a way back. A request only records the update; the watcher carries it out."""

from typing import Any

from django.db import transaction
from django.db.models import Case, F, Q, Value, When

from containers.errors import EngineError, ImageMissingError, ImageUnusableError
from containers.get_engine import get_engine
from projects.errors import ImagePinnedError, OperationInProgressError, ProjectSuspendedError
from projects.models import Actor, AgentType, Project
from projects.rules.status.control import Verdict, judge_action
from projects.rules.status.image_update import Step
from projects.rules.status.lifecycle import Action, Desired
from projects.services.operations import NO_FAILURES, command_deadline, operation_in_progress

NEW_IMAGE = "new image"
"""The action of the events."""

UNDER_WAY = "“{}” is being updated. Its events say what comes of it; ask for another update after that."
NOT_UNDONE = "The last update of “{}” could not be undone. Start the agent to try that again."

AGAIN_AFTER = 5
"""Seconds after which to ask again while an update is under way."""

PINNED = "The staff have decided that “{}” keeps its image. Ask them."


def request_update(*, project: Project, actor: Actor) -> bool:
    """Records that the watcher should give the agent the newest image of its type. Returns whether it is needed.

    A stopped agent gets it when it is started. Repeated before the update has begun, it chooses the newest image again.
    Raises `ImagePinnedError`, `ProjectSuspendedError`, `OperationInProgressError`, also while an update is under way,
    `ProjectGoneError` and `EngineError`.
    """
    try:
        is_wanted = _request(project, actor)
    except Exception as error:
        detail = str(error) if isinstance(error, OperationInProgressError) else ""
        project.event(actor, NEW_IMAGE, "failed", detail=detail).save()
        raise
    if not is_wanted:
        project.event(actor, NEW_IMAGE, "nothing to do").save()
    return is_wanted


def _request(project: Project, actor: Actor) -> bool:
    _check_may_update(project)
    newest = find_newest(project)
    if project.update_step == Step.NONE and newest == project.image_id:
        return False
    values: dict[str, Any] = {"update_step": Step.COPY, "next_image_id": newest}
    if project.desired == Desired.RUNNING:
        values |= NO_FAILURES  # the new image may remove their cause
    rows = Project.objects.filter(
        pk=project.pk,
        operation="",
        generation=project.generation,
        update_step=project.update_step,
        keeps_image=False,
        suspended_at=None,
    ).exclude(desired=Desired.DELETED)
    with transaction.atomic():
        is_written = rows.update(**values)
        if is_written:
            project.event(actor, NEW_IMAGE, "recorded").save()
    project.refresh_from_db()
    if not is_written:
        _check_may_update(project)
        raise operation_in_progress(project)
    return True


def _check_may_update(project: Project) -> None:
    if project.keeps_image:
        raise ImagePinnedError(PINNED.format(project.name))
    facts = project.facts()
    verdict = judge_action(Action.RESTART, status=project.status, operation=facts.operation, suspended=facts.suspended)
    if verdict is Verdict.SUSPENDED:
        raise ProjectSuspendedError(f"“{project.name}” is suspended. Ask the staff to lift the suspension.")
    if verdict is Verdict.CONFLICT:
        raise operation_in_progress(project)
    if project.update_step not in {Step.NONE, Step.COPY}:
        sentence = NOT_UNDONE if project.update_step == Step.STUCK else UNDER_WAY
        raise OperationInProgressError(sentence.format(project.name), retry_after=AGAIN_AFTER)


def find_newest(project: Project) -> str:
    """Returns the id of the image that the engine has under the type's name for it. Raises `EngineError`."""
    name = project.agent_type.image
    with command_deadline():
        found = get_engine().describe_image(name)
    if found is None:
        raise ImageMissingError(f"The image {name} is not on the engine. Ask the staff to build it.")
    if found.fault:
        raise ImageUnusableError(found.fault)
    return found.image_id


def count_old_images(agent_type: AgentType) -> int:
    """Returns how many projects have another image than the type's newest one, as last recorded."""
    rows = Project.objects.live().filter(agent_type=agent_type)
    return rows.exclude(image_id__in=["", agent_type.image_id]).count()


_NOT_BEGUN = Q(update_step=Step.COPY, operation="")
_FORGOTTEN: dict[str, Any] = {
    name: Case(When(_NOT_BEGUN, then=Value("")), default=F(name)) for name in ("update_step", "next_image_id")
}


def pin_image(*, project: Project, actor: Actor, keep: bool) -> None:
    """Pins the project's image for staff, or releases it.

    Pinning cancels an update that has not begun; one that has begun continues. Raises `ProjectGoneError`.
    """
    if not project.want(keeps_image=keep, **(_FORGOTTEN if keep else {})):
        raise operation_in_progress(project)
    project.event(actor, NEW_IMAGE, "pinned" if keep else "released").save()


def describe_error(error: Exception) -> str:
    """Describes an error for an event. Only errors of the engine are sentences for people without secrets."""
    return str(error) if isinstance(error, EngineError) else type(error).__name__
