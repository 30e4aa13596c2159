"""Finds what carries the id of this installation and belongs to no project, and puts it into quarantine.

Only what a late deploy has left of a project that its owner deleted is removed, because the owner said so.
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
"""How old an orphan must be. A younger one may belong to a project that was inserted after the rows were read."""


def find_orphans(
    without_row: Mapping[str, Sequence[Observation]], *, include_volumes: bool, now: datetime
) -> list[str]:
    """Returns the keys of what is to go into quarantine: old enough, with our id, and of no project.

    With `include_volumes` also of volumes without a container. Entries of what the engine does not have any more, or
    of what has a project again, are deleted.
    """
    containers = [each for key, group in without_row.items() if key for each in group if is_labelled(each.labels)]
    containers = [each for each in containers if not each.is_silent]  # it would hold the round up, and not go
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
    """Removes what is left of deleted projects and puts the rest into quarantine. Returns what was done and refused."""
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
            log.warning("What the engine has of %s belongs to no project: %s.", key, word)
    return done, refused


def _quarantine(key: str) -> bool:
    return put_in_quarantine(key, actor=SYSTEM)


def _remove_rest(key: str) -> bool:
    get_engine().remove(key, volumes=True)
    return True


def _deleted_among(keys: Collection[str]) -> set[str]:
    """Those whose project was deleted: the row went together with an event that says so."""
    events = Event.objects.filter(project_id__in=[found for key in keys if (found := as_uuid(key))], outcome="done")
    deletions = events.filter(action__in=["delete", Remedy.FINISH_DELETION.value])
    return {str(pk) for pk in deletions.values_list("project_id", flat=True)} if keys else set()


def _is_old(each: Observation | Volume, now: datetime) -> bool:
    """Also where the clock of the engine is so far ahead of ours that nothing tells how old it is."""
    return each.created_at is not None and not is_recent(each.created_at, within=ORPHAN_AGE, now=now, ahead=ORPHAN_AGE)


def _is_kept(container: Observation) -> bool:
    """Whether it is in quarantine already, and nobody has started it since."""
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
