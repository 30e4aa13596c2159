"""From what the engine says to what the rows say.

Reads use `refresh`, which changes objects in memory and writes nothing: a GET stays without side effects, and never
competes with an operation. Only operations and the watcher write.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from containers.engine import INSTANCE_LABEL, EngineError, Observation
from containers.get_engine import get_engine
from projects.errors import ProjectGoneError
from projects.models import Project
from projects.rules.lifecycle import FRESH_FOR, Desired
from projects.services.container_spec import OWNER_LABEL

ANSWERING = timedelta(milliseconds=500)
"""What it may take from the look at the row until the client has the answer."""


def is_fresh(project: Project, now: datetime) -> bool:
    if project.operation_in_flight(now):
        return True  # that is what its status says, whatever the engine has
    return project.checked_at is not None and now - project.checked_at <= FRESH_FOR - ANSWERING


def refresh(projects: Sequence[Project]) -> None:
    """Bring the objects up to date; where the engine is silent they stay as they are, and grow old."""
    now = timezone.now()
    stale = [project for project in projects if not is_fresh(project, now)]
    if not stale:
        return
    try:
        with get_engine().read_deadline():
            seen = _look(stale)
    except EngineError:
        return
    for project in _unchanged(stale):
        apply_if_newer(project, seen[project.container_name], at=now)


def _look(projects: Sequence[Project]) -> dict[str, Observation | None]:
    engine = get_engine()
    seen: dict[str, Observation | None] = {found.name: found for found in engine.observe(_labels(projects))}
    for project in projects:
        if project.container_name not in seen:
            # An empty answer is no proof of absence; only a 404 for this very name is.
            seen[project.container_name] = engine.inspect(project.container_name)
    return seen


def _unchanged(projects: Sequence[Project]) -> Iterator[Project]:
    """Those on which no operation began or ended while the engine was asked; the others are read again.

    What the engine has now and what the row wanted then do not go together: a container that was just stopped would
    look crashed.
    """
    rows = Project.objects.filter(pk__in=[project.pk for project in projects])
    now = {pk: held for pk, *held in rows.values_list("pk", "generation", "operation_id")}
    for project in projects:
        if now.get(project.pk) == [project.generation, project.operation_id]:
            yield project
            continue
        try:
            project.refresh_from_db()
        except ProjectGoneError:
            project.desired = Desired.DELETED


def _labels(projects: Sequence[Project]) -> dict[str, str]:
    """As narrow as it goes: most reads are about one owner's projects."""
    labels = {INSTANCE_LABEL: settings.BERTH_INSTANCE}
    owners = {project.owner_id for project in projects}
    if len(owners) == 1:
        labels[OWNER_LABEL] = str(owners.pop())
    return labels


def apply_if_newer(project: Project, observation: Observation | None, *, at: datetime) -> list[str]:
    """The fields taken over; none where the row knows something newer."""
    if project.observed_at is not None and project.observed_at >= at:
        return []
    return project.apply_observation(observation, at=at)


def observe_now(project: Project) -> None:
    """Ask the engine about one container, whatever the row says. Raises `EngineError` where it does not answer."""
    observation = get_engine().inspect(project.container_name)
    project.apply_observation(observation, at=timezone.now())
