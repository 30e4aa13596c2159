"""Agents that carry the id of this installation and belong to no project: stopped and kept until somebody decides."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction

from accounts import clock
from accounts.models import User
from containers.get_engine import get_engine
from containers.identity import is_labelled
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL
from projects.errors import CannotAdoptError
from projects.models import Actor, AgentType, Event, Plan, Project, Quarantined
from projects.rules.lifecycle import Desired
from projects.services.agent_users import learn_users
from projects.services.container_spec import OWNER_LABEL

STOP_TIMEOUT = 15
"""Seconds that the agent gets to end. Nobody knows its type any more."""

NOBODY = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """What the engine has of a key."""

    name: str
    owner_key: str
    generation: int
    created_at: datetime | None


def put_in_quarantine(key: str, *, actor: Actor) -> bool:
    """Stops the containers of this key, removes the credentials and notes what is kept. Raises `EngineError`.

    Returns False, having done nothing, where there is a project of this key or the engine has nothing of it.
    """
    if _has_project(key):
        return False
    remains = find_remains(key)
    if remains is None:
        return False
    learn_users()  # what is deleted from quarantine one day tells nobody which number it had
    values = {
        "instance": settings.BERTH_INSTANCE,
        "owner_key": remains.owner_key[:64],
        "container_name": remains.name[:100],
        "generation": remains.generation,
    }
    # The row first: a process that is killed now leaves one that says what the next round goes on with.
    with transaction.atomic():
        _, is_new = Quarantined.objects.update_or_create(
            key=key, defaults=values, create_defaults={**values, "since": clock.now()}
        )
        if is_new:
            _record(key, remains.owner_key, actor, "quarantine")
    get_engine().quarantine(key, timeout=STOP_TIMEOUT)
    return True


def find_remains(key: str) -> Remains | None:
    """What the engine has of this key under our id, or None."""
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


def adopt_from_quarantine(
    *,
    entry: Quarantined,
    actor: Actor,
    owner: User | None = None,
    plan: Plan | None = None,
    agent_type: AgentType | None = None,
) -> Project:
    """Makes a stopped project of it, with its memory and without credentials, which its owner has to enter.

    `owner` is by default the one whom the labels name, `plan` and `agent_type` the defaults of the catalogue. Raises
    `CannotAdoptError` and `EngineError`.
    """
    if _has_project(entry.key):
        raise CannotAdoptError(f"There is a project {entry.key} again. It keeps what is its own.")
    owner = owner or _owner_of(entry)
    project = Project(
        id=_project_id(entry),
        owner=owner,
        instance=settings.BERTH_INSTANCE,
        name=f"Recovered {entry.key[:8]}",
        agent_type=agent_type or _default(AgentType),
        plan=plan or _default(Plan),
        desired=Desired.STOPPED,
        generation=entry.generation + 1,
        observed_at=clock.now(),
    )
    # The next start makes a container. Where this fails, the entry stays, and so does the state.
    get_engine().stop(entry.key, timeout=STOP_TIMEOUT)
    get_engine().remove(entry.key)
    try:
        with transaction.atomic():
            project.save(force_insert=True)
            Quarantined.objects.filter(pk=entry.pk).delete()
            project.event(actor, "adopt", "done", detail="from quarantine").save()
    except IntegrityError:
        raise CannotAdoptError(f"There is a project {entry.key} again. Nothing was adopted.") from None
    return project


def delete_from_quarantine(*, entry: Quarantined, actor: Actor) -> None:
    """Removes the container and the state for good. Raises `CannotAdoptError` and `EngineError`."""
    if _has_project(entry.key):
        raise CannotAdoptError(f"There is a project {entry.key} again. Delete the project, if that is what you want.")
    get_engine().stop(entry.key, timeout=STOP_TIMEOUT)
    get_engine().remove(entry.key, volumes=True)
    with transaction.atomic():
        if Quarantined.objects.filter(pk=entry.pk).delete()[0]:
            _record(entry.key, entry.owner_key, actor, "delete from quarantine")


def _record(key: str, owner_key: str, actor: Actor, action: str) -> None:
    """The event, where the labels are those of a project. They are not, where somebody else has made them."""
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


def _has_project(key: str) -> bool:
    project_id = as_uuid(key)
    return project_id is not None and Project.objects.filter(pk=project_id).exists()


def _project_id(entry: Quarantined) -> UUID:
    project_id = as_uuid(entry.key)
    if project_id is None:
        raise CannotAdoptError(f"“{entry.key}” is not the id of a project. It can only be deleted.")
    return project_id


def find_owner(entry: Quarantined) -> User | None:
    """The owner whom the labels name, or None where there is no such user here."""
    owner_id = as_uuid(entry.owner_key)
    return User.objects.filter(pk=owner_id).first() if owner_id else None


def _owner_of(entry: Quarantined) -> User:
    owner = find_owner(entry)
    if owner is None:
        raise CannotAdoptError(
            f"The owner of {entry.key} does not exist here. Run `manage.py quarantine adopt {entry.key} --owner EMAIL`."
        )
    return owner


def _default(model: type[Any]) -> Any:
    """The row that a request without a choice gets, or else any that is available."""
    row = model.objects.filter(available=True).order_by("-is_default", "pk").first()
    if row is None:
        raise CannotAdoptError(f"No {model._meta.verbose_name} is available. Choose one.")
    return row


def as_uuid(text: str) -> UUID | None:
    """The id of a row whose label this is, or None where it is none of ours."""
    try:
        found = UUID(text)
    except ValueError:
        return None
    return found if str(found) == text else None
