"""Records in the rows what the engine's events say about agents, while the engine itself cannot be asked."""

from collections.abc import Callable, Mapping
from datetime import datetime

from django.conf import settings

from accounts import clock
from containers.vocabulary import ContainerState, Health
from projects.models import Project
from projects.services.inventory.quarantine import as_uuid
from projects.watcher.ends.observation import differs, record_observation
from projects.watcher.ends.run_ends import RunEnds
from projects.watcher.ends.states_from_events import CALLED_UP, heard_state
from projects.watcher.failures import locked_rows

RUN, ILL, OTHER = "run", "health_status: unhealthy", "other"
"""The kinds of events: an agent has ended or was started, is unhealthy, or something else, such as paused or removed.
Only the first is recorded from events; inspections record the others."""

Subject = tuple[str, str]
"""The key of an agent and RUN, ILL or OTHER."""


def record_events(
    heard: Mapping[Subject, datetime], ends: RunEnds, *, before_each: Callable[[], object]
) -> tuple[set[Subject], set[Subject]]:
    """Records which of these agents have ended or were started, without counting crashes.

    `heard` has the time of each subject's event. Returns the subjects that the rows now reflect, and those whose rows
    no heartbeat covers at present.
    """
    ids = {key: found for key, _ in heard if (found := as_uuid(key))}
    rows = Project.objects.filter(pk__in=ids.values(), instance=settings.BERTH_INSTANCE)
    known = {project.pk: project for project in rows.select_related("owner")}
    recorded: set[Subject] = set()
    left: set[Subject] = set()
    for on, at in heard.items():
        before_each()
        project = known.get(ids[on[0]]) if on[0] in ids else None
        if project is None:
            recorded.add(on)
        elif project.pk not in locked_rows:
            if project.operation or project.reconcile_failures:
                left.add(on)
            elif (
                _record_state(project, ends, at)
                if on[1] == RUN
                else _is_reflected(project, on, at, is_told=(on[0], RUN) in heard)
            ):
                recorded.add(on)
    return recorded, left


def _is_reflected(project: Project, on: Subject, heard_at: datetime, *, is_told: bool) -> bool:
    """Returns whether the row reflects the event or a later inspection.

    `is_told`: the row may have just been written from an event, without an inspection.
    """
    says_so = on[1] == ILL and project.health == Health.UNHEALTHY
    return says_so or (not is_told and _is_newer(project, heard_at))


def _is_newer(project: Project, heard_at: datetime) -> bool:
    return project.observed_at is not None and project.observed_at >= heard_at


def _record_state(project: Project, ends: RunEnds, heard_at: datetime) -> bool:
    heard = heard_state(project, (), ends.find)
    if heard is None:
        return _is_newer(project, heard_at)
    if heard.state is ContainerState.RESTARTING and project.container_state not in CALLED_UP:
        return True  # the row already has the end, as the engine itself reported it
    return not differs(project, heard) or record_observation(project, heard, at=clock.now())
