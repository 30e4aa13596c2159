"""Restores the gateway's entry after a failed start if the former container keeps running."""

from django.db import transaction

from containers.gateway.vocabulary import ADDRESS_LABEL
from containers.vocabulary import Observation
from projects.models import Project
from projects.models.columns.gateway import NEXT_VERSION
from projects.models.installation import lock_installation
from projects.services.gateway.synchronization import leave_gateway, notify_gateway


def stay_with(project: Project, seen: Observation | None) -> None:
    """Tells the gateway the address of the container that still runs, instead of that of its failed replacement.

    A container without an address has the real credentials, so its project leaves the gateway.
    """
    if seen is None or not seen.is_up or not project.is_behind_gateway:
        return
    former = seen.labels.get(ADDRESS_LABEL, "")
    if not former:
        leave_gateway(project)
    elif former != project.address and _take_former(project, former):
        project.refresh_from_db(fields=["address", "entry_version"])
        notify_gateway(project)


def _take_former(project: Project, former: str) -> bool:
    """Writes the former address to the row. Returns whether it did.

    It does not if another start has given the project a new address meanwhile, or if the former one belongs to another
    project by now; then only a new start helps.
    """
    with transaction.atomic():
        lock_installation()
        if Project.objects.filter(address=former).exists():
            return False
        return bool(
            Project.objects.filter(pk=project.pk, address=project.address).update(address=former, **NEXT_VERSION)
        )
