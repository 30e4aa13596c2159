"""Tells an owner that the agent's memory is gone, which nobody has cleared."""

from django.db import transaction

from projects.models import Project
from projects.models.event import SYSTEM
from projects.models.operation import Claim
from projects.rules.alerts import GONE, MEMORY


def tell_of_lost_memory(project: Project, claim: Claim) -> None:
    """For the moment before the engine makes an empty one: by then a start that is cut off has told already.

    It is told once, and never by an operation that has lost the project to another one.
    """
    if not project.has_state:
        return
    with transaction.atomic():
        if Project.objects.filter(pk=project.pk, operation_id=claim.id, has_state=True).update(has_state=False):
            project.event(SYSTEM, MEMORY, GONE).save()
    project.has_state = False
