"""Containers and volumes of this instance that belong to no project: a killed process has left them."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from django.conf import settings

from containers.errors import EngineRefusedError
from containers.get_engine import get_engine
from containers.identity import is_labelled
from containers.vocabulary import INSTANCE_LABEL, Observation, Volume
from projects.models import Project

log = logging.getLogger(__name__)

ORPHAN_AGE = timedelta(minutes=5)
"""How old an orphan must be. A younger one may belong to a project that was inserted after the rows were read."""


def find_orphans(rowless: Mapping[str, Sequence[Observation]], *, include_volumes: bool) -> dict[str, datetime | None]:
    """Returns the keys without a project that carry our id, and when the oldest of what they have was made.

    What does not carry the id is left alone: it may be another installation's.
    """
    found: list[Observation | Volume] = [each for group in rowless.values() for each in group]
    if include_volumes:
        found += get_engine().list_volumes({INSTANCE_LABEL: settings.BERTH_INSTANCE})
    known = {str(pk) for pk in Project.objects.values_list("pk", flat=True)} if found else set()
    oldest: dict[str, datetime | None] = {}
    for each in found:
        if each.key and each.key not in known and is_labelled(each.labels):
            since = [at for at in (each.created_at, oldest.get(each.key)) if at is not None]
            oldest[each.key] = min(since, default=None)
    return oldest


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
