"""Updates projects in memory from the engine.

It writes nothing, so that a GET has no side effects and never competes with an operation. Only operations and the
watcher write observations.
"""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext, suppress
from datetime import datetime
from uuid import UUID

from django.conf import settings

from accounts import clock
from accounts.moments import is_future, is_recent
from containers.errors import ContainerSilentError, EngineError
from containers.get_engine import get_engine
from containers.identity import group_by_key
from containers.outbound.call_limits import time_limit
from containers.vocabulary import INSTANCE_LABEL, Observation
from projects.errors import ProjectGoneError
from projects.models import Project
from projects.models.rows.project import ProjectRow
from projects.rules.status.lifecycle import ANSWERING, FRESH_FOR, Desired, Facts
from projects.services.container_spec import OWNER_LABEL

WHILE_WATCHED = 1.5
"""Seconds for the engine to answer a read while a watcher is at work. If rows are too old although it is at work, the
engine is busy, and reading again soon is better than waiting."""

READ_AGAIN_AFTER = 0.3
"""If the engine took longer than these seconds, rows that are still not fresh are read again."""


def is_fresh(facts: Facts) -> bool:
    """Returns whether the status follows from the row alone, so that the engine need not be asked."""
    if facts.operation:
        return True  # the status follows from the operation
    return is_recent(facts.checked_at, within=FRESH_FOR - ANSWERING, now=facts.now)


def refresh_rows(rows: Sequence[ProjectRow]) -> list[tuple[ProjectRow | Project, Facts]]:
    """Returns each row with its facts. Reads rows that are not fresh completely, and asks the engine about them."""
    now = clock.now()
    known: list[tuple[ProjectRow | Project, Facts]] = [(row, row.facts(now)) for row in rows]
    stale = [row.id for row, facts in known if not is_fresh(facts)]
    if not stale:
        return known
    whole, began = _read_whole(stale), time.monotonic()
    refresh(list(whole.values()), busy={str(row.id) for row, facts in known if facts.operation})
    if time.monotonic() - began > READ_AGAIN_AFTER:  # the other rows have become too old meanwhile
        whole |= _read_whole([row.id for row in rows if row.id not in whole])
    now = clock.now()
    return [(row, row.facts(now)) for row in (whole.get(row.id, row) for row in rows)]


def _read_whole(keys: Sequence[UUID]) -> dict[UUID, Project]:
    return Project.objects.with_heartbeat().select_related("owner", "plan", "agent_type").in_bulk(keys)


def refresh(projects: Sequence[Project], *, busy: Collection[str] = ()) -> None:
    """Updates the objects in memory from the engine, or from their rows if the engine does not answer in time.

    `busy` are the keys of other projects with an operation in flight.
    """
    now = clock.now()
    known = [(project, project.facts(now)) for project in projects]
    stale = [project for project, facts in known if not is_fresh(facts)]
    if not stale:
        return
    is_watched = all(facts.is_watched for _, facts in known)
    began = time.monotonic()
    _ask_engine(projects, stale, busy=busy, at=now, within=WHILE_WATCHED if is_watched else None)
    if time.monotonic() - began > READ_AGAIN_AFTER:
        _read_again(stale)


def _ask_engine(
    projects: Sequence[Project], stale: Sequence[Project], *, busy: Collection[str], at: datetime, within: float | None
) -> None:
    try:
        with get_engine().read_deadline(), time_limit(within) if within else nullcontext():
            held = {each.container_key for each in projects if each.operation_in_flight(at)}
            seen = _observe(stale, busy=held.union(busy))
    except EngineError:
        return
    for project in _skip_changed(stale):
        if project.container_key in seen:
            apply_if_newer(project, seen[project.container_key], at=at)


def _read_again(projects: Sequence[Project]) -> None:
    """Reads projects again that are still not fresh, because a watcher may have updated their rows meanwhile."""
    now = clock.now()
    left = {project.pk: project for project in projects if not is_fresh(project.facts(now))}
    for pk, newer in _read_whole(list(left)).items():
        vars(left[pk]).update(vars(newer))


def _observe(projects: Sequence[Project], *, busy: Collection[str]) -> dict[str, Observation | None]:
    """Returns the observations by key. Leaves out containers about which the engine does not answer.

    Containers with a key in `busy` are only listed, because the engine may be unable to answer about them now.
    """
    engine = get_engine()
    # The list may wrongly call a container healthy, and no watcher has inspected these lately.
    doubted = {project.container_key for project in projects}
    groups = group_by_key(engine.observe(_labels(projects), briefly=busy, doubted=doubted))
    seen: dict[str, Observation | None] = {}
    for project in projects:
        group = groups.get(project.container_key, [])
        if any(each.is_silent for each in group):
            continue
        found = next(iter(group), None)
        if found is None or (found.is_brief and project.has_reported_since(found)):
            # A container may be missing from a list although it exists. Only a 404 for its name proves its absence.
            with suppress(ContainerSilentError):
                seen[project.container_key] = engine.inspect(project.container_key)
        else:
            seen[project.container_key] = found
    return seen


def _skip_changed(projects: Sequence[Project]) -> Iterator[Project]:
    """Yields the projects on which no operation began or ended while the engine was asked. Reads the others again.

    A new observation must not be combined with an old row: a container that was just stopped would look crashed.
    """
    rows = Project.objects.filter(pk__in=[project.pk for project in projects])
    current = {pk: claim for pk, *claim in rows.values_list("pk", "generation", "operation_id")}
    for project in projects:
        if current.get(project.pk) == [project.generation, project.operation_id]:
            yield project
            continue
        try:
            project.refresh_from_db()
        except ProjectGoneError:
            project.desired = Desired.DELETED


def _labels(projects: Sequence[Project]) -> dict[str, str]:
    """Returns the labels that all their containers share: also the owner's, if they have one owner, as usual."""
    labels = {INSTANCE_LABEL: settings.BERTH_INSTANCE}
    owners = {project.owner_id for project in projects}
    if len(owners) == 1:
        labels[OWNER_LABEL] = str(owners.pop())
    return labels


def apply_if_newer(project: Project, observation: Observation | None, *, at: datetime) -> None:
    """Applies the observation if it is newer, or if the row's is in the future because the clock has stepped back."""
    known = project.observed_at
    if known is None or known < at or is_future(known, now=clock.now()):
        project.apply_observation(observation, at=at)


def observe_now(project: Project) -> Observation | None:
    """Asks the engine about one container, even if the row is fresh, and returns the observation.

    Leaves out the last report of a container that is down, because no status follows from it. Raises `EngineError`.
    """
    observation = get_engine().inspect(project.container_key, briefly=True)
    project.apply_observation(observation, at=clock.now())
    return observation
