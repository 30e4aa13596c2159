"""Records that an agent's memory is gone although nobody cleared it."""

from django.db import transaction

from projects.models import Project
from projects.models.event import SYSTEM
from projects.models.operation import Claim
from projects.rules.alerts import GONE, MEMORY


def record_lost_memory(project: Project, claim: Claim) -> None:
    """Writes the event for lost memory, once. Call it before the engine creates an empty volume.

    So the event exists even if the start is interrupted. An operation that has lost its claim writes none.
    """
    if not project.has_state:
        return
    with transaction.atomic():
        if Project.objects.filter(pk=project.pk, operation_id=claim.id, has_state=True).update(has_state=False):
            project.event(SYSTEM, MEMORY, GONE).save()
    project.has_state = False
