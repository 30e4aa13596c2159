"""Containers and volumes of this instance that belong to no project: a killed process has left them."""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta

from django.conf import settings

from containers.errors import EngineRefusedError
from containers.get_engine import get_engine
from containers.vocabulary import INSTANCE_LABEL
from projects.models import Project

log = logging.getLogger(__name__)

ORPHAN_AGE = timedelta(minutes=5)
"""How old an orphan must be. A younger one may belong to a project that was inserted after the rows were read."""


def find_orphaned_volumes() -> dict[str, datetime]:
    """Returns the names of containers without a project whose volumes are still there, and when those were made."""
    volumes = get_engine().list_volumes({INSTANCE_LABEL: settings.BERTH_INSTANCE})
    rows = Project.objects.filter(instance=settings.BERTH_INSTANCE)
    known = {f"{instance}-{pk}" for instance, pk in rows.values_list("instance", "pk")} if volumes else set()
    return {name: since for name, since in volumes.items() if name not in known}


def remove_orphans(orphans: Mapping[str, datetime | None], *, now: datetime) -> tuple[list[str], list[str]]:
    """Removes the orphans that are old enough, with their volumes. Returns what was removed and what was refused."""
    removed: list[str] = []
    refused: list[str] = []
    for name, since in orphans.items():
        if since is None or now - since < ORPHAN_AGE:
            continue
        try:
            get_engine().remove(name, volumes=True)
        except EngineRefusedError as error:
            refused.append(f"remove orphan: {name}: {error}")
            continue
        removed.append(f"remove orphan: {name}")
        log.info("Removed %s, which belongs to this instance and to no project.", name)
    return removed, refused
