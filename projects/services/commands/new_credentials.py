"""What comes of new credentials where the old ones are why the agent was given up: it is tried again."""

from django.db import transaction
from django.db.models import F

from accounts import clock
from containers.vocabulary import ContainerState
from projects.models import Actor, Project
from projects.models.columns.ended import NOT_ENDED
from projects.rules.status.cures import is_cured
from projects.rules.status.lifecycle import Desired

EVENT, TRIED = "new credentials", "tried again"
"""The action of the event, and its outcome."""


def try_again(project: Project, *, with_token: bool, with_key: bool, actor: Actor) -> bool:
    """Takes back that the agent was given up, where what is new is what was wrong; the watcher starts it. Returns
    whether so.

    Its owner wants it to run, and nothing else stands in the way. The next generation tells the watcher that what
    ended is not what is to run.
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
    anew = {"gave_up_at": None, "crash_count": 0, "crashes_since": None, "log_tail": "", **NOT_ENDED}
    with transaction.atomic():
        if not rows.update(**anew, generation=F("generation") + 1, updated_at=clock.now()):
            return False
        project.event(actor, EVENT, TRIED).save()
    project.refresh_from_db(fields=[*anew, "generation", "updated_at"])
    return True
