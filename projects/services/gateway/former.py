"""What holds for the gateway after a start that failed, where the container of before goes on."""

from django.db import transaction

from containers.gateway.words import ADDRESS_LABEL
from containers.vocabulary import Observation
from projects.models import Project
from projects.models.columns.behind_gateway import NEXT_VERSION
from projects.models.installation import lock_installation
from projects.services.gateway.telling import leave_gateway, tell


def stay_with(project: Project, seen: Observation | None) -> None:
    """Has the gateway know the container that runs, by the address that it was made with, and not the one that was to
    take its place. One without an address has the real credentials.
    """
    if seen is None or not seen.is_up or not project.is_behind_gateway:
        return
    former = seen.labels.get(ADDRESS_LABEL, "")
    if not former:
        leave_gateway(project)
    elif former != project.address and _take_former(project, former):
        project.refresh_from_db(fields=["address", "entry_version"])
        tell(project)


def _take_former(project: Project, former: str) -> bool:
    """Returns whether the row has it again: not where another start has given it another one meanwhile, nor where the
    former one is somebody else's by now, so that only a start helps.
    """
    with transaction.atomic():
        lock_installation()
        if Project.objects.filter(address=former).exists():
            return False
        return bool(
            Project.objects.filter(pk=project.pk, address=project.address).update(address=former, **NEXT_VERSION)
        )
