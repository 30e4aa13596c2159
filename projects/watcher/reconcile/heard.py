"""Tells the rows what the engine's events have told of agents, while the engine itself cannot be asked."""

from collections.abc import Callable, Mapping
from datetime import datetime

from django.conf import settings

from accounts import clock
from containers.vocabulary import ContainerState, Health
from projects.models import Project
from projects.services.inventory.quarantine import as_uuid
from projects.watcher.ends.ends import Ends
from projects.watcher.ends.hearsay import CALLED_UP, heard_state
from projects.watcher.ends.observation import differs, record_observation
from projects.watcher.failures import locked_rows

RUN, ILL, OTHER = "run", "health_status: unhealthy", "other"
"""What of an agent is told: that it has ended or was started, that it is ill, or something else, such as that it is
paused or was removed. Other looks write its health, and all else."""

Subject = tuple[str, str]
"""The key of an agent, and RUN, ILL or OTHER."""


def tell(
    heard: Mapping[Subject, datetime], ends: Ends, *, before_each: Callable[[], object]
) -> tuple[set[Subject], set[Subject]]:
    """Writes down which of these agents have ended or were started, and counts no crash. Returns what the rows say of
    what was `heard`, which has a moment for each, and that for whose rows no heartbeat vouches at present.
    """
    ids = {key: found for key, _ in heard if (found := as_uuid(key))}
    rows = Project.objects.filter(pk__in=ids.values(), instance=settings.BERTH_INSTANCE)
    known = {project.pk: project for project in rows.select_related("owner")}
    told: set[Subject] = set()
    left: set[Subject] = set()
    for on, at in heard.items():
        before_each()
        project = known.get(ids[on[0]]) if on[0] in ids else None
        if project is None:
            told.add(on)
        elif project.pk not in locked_rows:
            if project.operation or project.reconcile_failures:
                left.add(on)
            elif _tell(project, ends, at) if on[1] == RUN else _knows(project, on, at, is_told=(on[0], RUN) in heard):
                told.add(on)
    return told, left


def _knows(project: Project, on: Subject, heard_at: datetime, *, is_told: bool) -> bool:
    """Whether the row says so, or knows better by a look. `is_told`: it has been written just now, without one."""
    says_so = on[1] == ILL and project.health == Health.UNHEALTHY
    return says_so or (not is_told and _is_newer(project, heard_at))


def _is_newer(project: Project, heard_at: datetime) -> bool:
    return project.observed_at is not None and project.observed_at >= heard_at


def _tell(project: Project, ends: Ends, heard_at: datetime) -> bool:
    heard = heard_state(project, (), ends.find)
    if heard is None:
        return _is_newer(project, heard_at)
    if heard.state is ContainerState.RESTARTING and project.container_state not in CALLED_UP:
        return True  # that it is down, the row says, and in the engine's own words
    return not differs(project, heard) or record_observation(project, heard, at=clock.now())
