"""What belongs to this instance and to no project: containers and volumes that a killed process left."""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta

from django.conf import settings

from containers.engine import INSTANCE_LABEL, EngineRefusedError
from containers.get_engine import get_engine
from projects.models import Project

log = logging.getLogger(__name__)

ORPHAN_AGE = timedelta(minutes=5)
"""How old what has no row must be: a deploy writes its row first, so a younger one may be another's."""


def find_leftovers() -> dict[str, datetime]:
    """Names without a project under which state or secrets are kept, and since when."""
    kept = get_engine().list_volumes({INSTANCE_LABEL: settings.BERTH_INSTANCE})
    rows = Project.objects.filter(instance=settings.BERTH_INSTANCE)
    known = {f"{instance}-{pk}" for instance, pk in rows.values_list("instance", "pk")} if kept else set()
    return {name: since for name, since in kept.items() if name not in known}


def remove_orphans(orphans: Mapping[str, datetime | None], *, now: datetime) -> tuple[list[str], list[str]]:
    """Remove those that are old enough, each with its volumes: what was removed, and what the engine refused."""
    removed, refused = [], []
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
