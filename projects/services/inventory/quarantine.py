"""Puts agents with this installation's id but without a project into quarantine: stopped, and kept until a decision."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from accounts import clock
from accounts.moments import is_recent
from containers.agent_text import mark_hidden
from containers.errors import EngineError, EngineUnavailableError
from containers.get_engine import get_engine
from containers.identity import is_labelled
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL, Observation
from projects.models import Actor, Event, Project, Quarantined
from projects.services.agent_users import learn_users
from projects.services.container_spec import OWNER_LABEL
from projects.services.reports.logs import read_last_lines

log = logging.getLogger(__name__)

STOP_TIMEOUT = 15
"""Seconds that the agent gets to end, because its type is unknown."""

READ_WITHIN = 3.0
TRIED_FOR = timedelta(minutes=10)
"""How long after its entry a stopped agent's container is kept if its log cannot be read."""

NOBODY = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """What the engine has of a project key."""

    name: str
    owner_key: str
    generation: int
    created_at: datetime | None


def put_in_quarantine(key: str, *, actor: Actor) -> bool:
    """Stops the containers of this key, removes their credentials and records what is kept. Raises `EngineError`.

    Does nothing and returns False if there is a project with this key or the engine has nothing of it.
    """
    if has_project(key):
        return False
    remains = find_remains(key)
    if remains is None:
        return False
    learn_users()  # after a deletion from quarantine nothing shows its user id
    values = {
        "instance": settings.BERTH_INSTANCE,
        "owner_key": mark_hidden(remains.owner_key)[:64],
        "container_name": mark_hidden(remains.name)[:100],
        "generation": remains.generation,
    }
    # Write the row first: if this process is killed, the next round continues with it.
    with transaction.atomic():
        entry, is_new = Quarantined.objects.update_or_create(
            key=key, defaults=values, create_defaults={**values, "since": clock.now()}
        )
        if is_new:
            record_event(key, remains.owner_key, actor, "quarantine")
    get_engine().quarantine(key, timeout=STOP_TIMEOUT, retire=lambda ended: _keep_log(entry, ended))
    return True


@sensitive_variables()
def _keep_log(entry: Quarantined, ended: Observation) -> None:
    """Keeps the agent's last log lines like those of an ended run, because they are removed with the container.

    Reads its credentials from the engine to redact them, because no row has them. For the first ten minutes it raises
    `EngineUnavailableError` if the log cannot be read, so that a later round tries again.
    """
    engine = get_engine()
    try:
        with engine.deadline(READ_WITHIN):
            log_kept = read_last_lines(entry.key, secrets=engine.read_secrets(entry.key))
    except EngineError as error:
        if isinstance(error, EngineUnavailableError) and is_recent(entry.since, within=TRIED_FOR, now=clock.now()):
            raise
        log.warning("The log of %s could not be kept: %s", ended.name, error)
        return
    if log_kept:
        Quarantined.objects.filter(pk=entry.pk).update(log=log_kept, container_id=ended.container_id)


def find_remains(key: str) -> Remains | None:
    """Returns what the engine has of this key with our installation id, or None."""
    engine = get_engine()
    within = {INSTANCE_LABEL: settings.BERTH_INSTANCE, PROJECT_LABEL: key}
    containers = [seen for seen in engine.observe(within) if is_labelled(seen.labels)]
    if containers:
        best = max(containers, key=lambda each: each.rank)
        owner = best.labels.get(OWNER_LABEL, "")
        return Remains(name=best.name, owner_key=owner, generation=best.generation, created_at=best.created_at)
    volumes = [volume for volume in engine.list_volumes(within) if is_labelled(volume.labels)]
    if not volumes:
        return None
    owner = volumes[0].labels.get(OWNER_LABEL, "")
    return Remains(name="", owner_key=owner, generation=0, created_at=volumes[0].created_at)


def record_event(key: str, owner_key: str, actor: Actor, action: str) -> None:
    """Writes the event if the labels have valid ids, which foreign containers may not have."""
    project_id, owner_id = as_uuid(key), as_uuid(owner_key) or NOBODY
    if project_id is not None:
        Event.objects.create(
            project_id=project_id,
            owner_id=owner_id,
            at=clock.now(),
            actor=actor.label,
            source=actor.source[:100],
            address=actor.address,
            action=action,
            outcome="done",
        )


def has_project(key: str) -> bool:
    project_id = as_uuid(key)
    return project_id is not None and Project.objects.filter(pk=project_id).exists()


def as_uuid(text: str) -> UUID | None:
    """Returns the id in a label, or None if Berth did not write it."""
    try:
        found = UUID(text)
    except ValueError:
        return None
    return found if str(found) == text else None
