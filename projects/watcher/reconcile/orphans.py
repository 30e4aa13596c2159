"""Finds containers and volumes with this installation's id but without a project, and puts them into quarantine.

Only the remains of a late deploy of a deleted project are removed, because its owner deleted it.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from django.conf import settings

from accounts.moments import future, is_recent
from containers.errors import EngineError
from containers.get_engine import get_engine
from containers.hardening import SECRETS
from containers.identity import is_labelled
from containers.vocabulary import INSTANCE_LABEL, QUARANTINE_LABEL, Observation, Volume
from projects.models import Event, Project, Quarantined
from projects.models.event import SYSTEM
from projects.rules.status.remedies import Remedy
from projects.services.inventory.quarantine import as_uuid, put_in_quarantine
from projects.watcher.failures import concerns_all

log = logging.getLogger(__name__)

ORPHAN_AGE = timedelta(minutes=5)
"""The minimum age of an orphan. A younger one may belong to a project that was inserted after the rows were read."""


def find_orphans(
    without_row: Mapping[str, Sequence[Observation]], *, include_volumes: bool, now: datetime
) -> list[str]:
    """Returns the keys of orphans: old enough, with our id, and without a project.

    `include_volumes` also finds volumes without a container, and deletes quarantine entries that the engine no longer
    has or that have a project again.
    """
    containers = [each for key, group in without_row.items() if key for each in group if is_labelled(each.labels)]
    containers = [each for each in containers if not each.is_silent]  # they would block the round
    due = {each.key for each in containers if _is_old(each, now) and not _is_kept(each)}
    if include_volumes:
        volumes = get_engine().list_volumes({INSTANCE_LABEL: settings.BERTH_INSTANCE})
        _forget_what_is_gone({each.key for each in containers} | {volume.key for volume in volumes}, now)
        with_container = {each.key for each in containers}
        due |= {
            volume.key
            for volume in _without_project(volumes)
            if _is_old(volume, now) and volume.key not in with_container and not _is_noted(volume)
        }
    return sorted(due)


def put_away(keys: Collection[str]) -> tuple[list[str], list[str]]:
    """Removes the remains of deleted projects and puts other orphans into quarantine.

    Returns lines for what was done and for what was refused.
    """
    done: list[str] = []
    refused: list[str] = []
    deleted = _deleted_among(keys)
    for key in keys:
        act, word = (_remove_rest, "remove the rest") if key in deleted else (_quarantine, "quarantine")
        try:
            is_done = act(key)
        except EngineError as error:
            if concerns_all(error):
                raise
            refused.append(f"{word}: {key}: {error}")
            continue
        if is_done:
            done.append(f"{word}: {key}")
            log.warning("%s on the engine belongs to no project: %s.", key, word)
    return done, refused


def _quarantine(key: str) -> bool:
    return put_in_quarantine(key, actor=SYSTEM)


def _remove_rest(key: str) -> bool:
    get_engine().remove(key, volumes=True)
    return True


def _deleted_among(keys: Collection[str]) -> set[str]:
    """Returns the keys of deleted projects: an event was written together with each deletion."""
    events = Event.objects.filter(project_id__in=[found for key in keys if (found := as_uuid(key))], outcome="done")
    deletions = events.filter(action__in=["delete", Remedy.FINISH_DELETION.value])
    return {str(pk) for pk in deletions.values_list("project_id", flat=True)} if keys else set()


def _is_old(each: Observation | Volume, now: datetime) -> bool:
    """Also true if the engine's clock is so far ahead of ours that the age is unknown."""
    return each.created_at is not None and not is_recent(each.created_at, within=ORPHAN_AGE, now=now, ahead=ORPHAN_AGE)


def _is_kept(container: Observation) -> bool:
    """Returns whether the container is already in quarantine and was not started since."""
    return QUARANTINE_LABEL in container.labels and not container.is_up and _has_entry(container.key)


def _is_noted(volume: Volume) -> bool:
    return not volume.name.endswith(SECRETS) and _has_entry(volume.key)


def _has_entry(key: str) -> bool:
    return Quarantined.objects.filter(key=key).exists()


def _without_project(volumes: Iterable[Volume]) -> list[Volume]:
    ours = [volume for volume in volumes if volume.key and is_labelled(volume.labels)]
    keys = {found for volume in ours if (found := as_uuid(volume.key))}
    known = {str(pk) for pk in Project.objects.filter(pk__in=keys).values_list("pk", flat=True)} if keys else set()
    return [volume for volume in ours if volume.key not in known]


def _forget_what_is_gone(on_engine: set[str], now: datetime) -> None:
    Quarantined.objects.filter(future("since", now=now), instance=settings.BERTH_INSTANCE).update(since=now)
    for key in Quarantined.objects.filter(instance=settings.BERTH_INSTANCE).values_list("key", flat=True):
        project_id = as_uuid(key)
        if key not in on_engine or (project_id and Project.objects.filter(pk=project_id).exists()):
            Quarantined.objects.filter(key=key).delete()
