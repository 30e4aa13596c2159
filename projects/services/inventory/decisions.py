"""Carries out decisions about agents in quarantine: to adopt them as projects, or to delete them permanently."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction

from accounts import clock
from accounts.models import User
from containers.get_engine import get_engine
from projects.errors import CannotAdoptError
from projects.models import Actor, AgentType, Plan, Project, Quarantined
from projects.models.quarantine import KEPT_FOR, find_overdue
from projects.rules.status.lifecycle import Desired
from projects.services.inventory.quarantine import STOP_TIMEOUT, as_uuid, has_project, record_event


def adopt_from_quarantine(
    *,
    entry: Quarantined,
    actor: Actor,
    owner: User | None = None,
    plan: Plan | None = None,
    agent_type: AgentType | None = None,
) -> Project:
    """Creates a stopped project with the agent's memory but without credentials, which the owner must enter.

    `owner` defaults to the one in the labels, `plan` and `agent_type` to the catalogue's defaults. Raises
    `CannotAdoptError` and `EngineError`.
    """
    if has_project(entry.key):
        raise CannotAdoptError(f"There is a project {entry.key} again. It keeps what is its own.")
    project = _make_stopped(entry, owner=owner or _owner_of(entry), plan=plan, agent_type=agent_type)
    # The next start creates a container. If this fails, the entry and the memory stay.
    get_engine().stop(entry.key, timeout=STOP_TIMEOUT)
    get_engine().remove(entry.key)
    try:
        with transaction.atomic():
            project.save(force_insert=True)
            _hand_over_log(entry, project)
            Quarantined.objects.filter(pk=entry.pk).delete()
            project.event(actor, "adopt", "done", detail="from quarantine").save()
    except IntegrityError:
        raise CannotAdoptError(f"There is a project {entry.key} again. Nothing was adopted.") from None
    return project


def delete_from_quarantine(*, entry: Quarantined, actor: Actor) -> None:
    """Removes the container and the memory permanently. Raises `CannotAdoptError` and `EngineError`."""
    if has_project(entry.key):
        raise CannotAdoptError(f"There is a project {entry.key} again. Delete the project, if that is what you want.")
    get_engine().stop(entry.key, timeout=STOP_TIMEOUT)
    get_engine().remove(entry.key, volumes=True)
    with transaction.atomic():
        if Quarantined.objects.filter(pk=entry.pk).delete()[0]:
            record_event(entry.key, entry.owner_key, actor, "delete from quarantine")


def describe_overdue() -> str:
    """Returns a sentence for staff if agents have waited long for a decision, else an empty text."""
    count = find_overdue(clock.now()).count()
    if not count:
        return ""
    agents = "1 agent has" if count == 1 else f"{count} agents have"
    return (
        f"{agents} been in quarantine for {KEPT_FOR.days} days or longer. Adopt or delete them: `manage.py quarantine` "
        "and the admin list them. Nothing is deleted by itself."
    )


def find_owner(entry: Quarantined) -> User | None:
    """Returns the owner that the labels name, or None if there is no such user here."""
    owner_id = as_uuid(entry.owner_key)
    return User.objects.filter(pk=owner_id).first() if owner_id else None


def find_owners(entries: Iterable[Quarantined]) -> dict[str, User]:
    """Returns the owners of many entries by their `owner_key`, with one query."""
    ids = {entry.owner_key: as_uuid(entry.owner_key) for entry in entries}
    users = User.objects.in_bulk([owner_id for owner_id in ids.values() if owner_id])
    return {key: users[owner_id] for key, owner_id in ids.items() if owner_id in users}


def _make_stopped(entry: Quarantined, *, owner: User, plan: Plan | None, agent_type: AgentType | None) -> Project:
    """Returns the unsaved project. Its next deploy has a higher generation than the container in quarantine."""
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
    if project.agent_type.pairs_people:
        _let_it_pair(project)
    return project


def _let_it_pair(project: Project) -> None:
    """Gives the project a pairing secret. Its memory knows the used codes, so new numbers start above all of them."""
    vars(project).update(project.encrypt_pairing_secret(in_force_from=project.generation))
    project.pairing_number = int(clock.now().timestamp())


def _hand_over_log(entry: Quarantined, project: Project) -> None:
    """Keeps the log as the project's first run."""
    if entry.log:
        project.runs.create(number=1, container_id=entry.container_id or entry.key, ended_at=entry.since, log=entry.log)


def _project_id(entry: Quarantined) -> UUID:
    project_id = as_uuid(entry.key)
    if project_id is None:
        raise CannotAdoptError(f"“{entry.key}” is not the id of a project. It can only be deleted.")
    return project_id


def _owner_of(entry: Quarantined) -> User:
    owner = find_owner(entry)
    if owner is None:
        raise CannotAdoptError(
            f"The owner of {entry.key} does not exist here. Run `manage.py quarantine adopt {entry.key} --owner EMAIL`."
        )
    return owner


def _default(model: type[Any]) -> Any:
    """Returns the default row of the catalogue, or any available one if there is no default."""
    row = model.objects.filter(available=True).order_by("-is_default", "pk").first()
    if row is None:
        raise CannotAdoptError(f"No {model._meta.verbose_name} is available. Choose one.")
    return row
