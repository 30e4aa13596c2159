"""Starts an agent again that was given up because of its old credentials, once it has new ones."""

from django.db import transaction
from django.db.models import F

from accounts import clock
from containers.vocabulary import ContainerState
from projects.models import Actor, Project
from projects.models.columns.last_run import NOT_ENDED
from projects.rules.status.cures import is_cured
from projects.rules.status.lifecycle import Desired

EVENT, TRIED = "new credentials", "tried again"
"""The action of the event, and its outcome."""


def try_again(project: Project, *, with_token: bool, with_key: bool, actor: Actor) -> bool:
    """Lets the watcher start an agent again if the new credentials replace those for which it was given up.

    Returns whether it does so. The owner must want the agent to run, and nothing else may prevent it. The new
    generation shows the watcher that the ended container is outdated.
    """
    if project.gave_up_at is None:
        return False
    reason = project.reason
    if reason is None or not is_cured(reason.code, with_token=with_token, with_key=with_key):
        return False
    rows = Project.objects.filter(
        pk=project.pk,
        desired=Desired.RUNNING,
        suspended_at=None,
        operation="",
        failure_code="",
        generation=project.generation,
        gave_up_at=project.gave_up_at,
        container_state__in=[ContainerState.EXITED, ContainerState.DEAD],
    )
    reset = {"gave_up_at": None, "crash_count": 0, "crashes_since": None, "log_tail": "", **NOT_ENDED}
    with transaction.atomic():
        if not rows.update(**reset, generation=F("generation") + 1, updated_at=clock.now()):
            return False
        project.event(actor, EVENT, TRIED).save()
    project.refresh_from_db(fields=[*reset, "generation", "updated_at"])
    return True
