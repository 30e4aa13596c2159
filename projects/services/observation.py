"""Brings projects up to date with what the engine has, in memory.

Nothing is written here, so that a GET has no side effects and never competes with an operation. Only operations and
the watcher write observations.
"""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext, suppress
from datetime import datetime
from uuid import UUID

from django.conf import settings

from accounts import clock
from accounts.moments import is_future, is_recent
from containers.call_limits import time_limit
from containers.errors import ContainerSilentError, EngineError
from containers.get_engine import get_engine
from containers.identity import group_by_key
from containers.vocabulary import INSTANCE_LABEL, Observation
from projects.errors import ProjectGoneError
from projects.models import Project
from projects.models.rows.project import ProjectRow
from projects.rules.status.lifecycle import ANSWERING, FRESH_FOR, Desired, Facts
from projects.services.container_spec import OWNER_LABEL

WHILE_WATCHED = 1.5
"""Seconds for the engine to answer a read while a watcher is at work. If it has not told that one for longer than a row
tells the status, it is busy, and who reads again soon learns more than who waits."""

READ_AGAIN_AFTER = 0.3
"""Seconds that the engine may take until the rows of those of which it has not told are read once more."""


def is_fresh(facts: Facts) -> bool:
    """Whether the row alone tells the status, so that the engine need not be asked."""
    if facts.operation:
        return True  # the status follows from the operation
    return is_recent(facts.checked_at, within=FRESH_FOR - ANSWERING, now=facts.now)


def refresh_rows(rows: Sequence[ProjectRow]) -> list[tuple[ProjectRow | Project, Facts]]:
    """Returns each row with its facts. Those that are not fresh are read whole, and the engine is asked about them."""
    now = clock.now()
    known: list[tuple[ProjectRow | Project, Facts]] = [(row, row.facts(now)) for row in rows]
    stale = [row.id for row, facts in known if not is_fresh(facts)]
    if not stale:
        return known
    whole, began = _read_whole(stale), time.monotonic()
    refresh(list(whole.values()), busy={str(row.id) for row, facts in known if facts.operation})
    if time.monotonic() - began > READ_AGAIN_AFTER:  # the others have grown old meanwhile
        whole |= _read_whole([row.id for row in rows if row.id not in whole])
    now = clock.now()
    return [(row, row.facts(now)) for row in (whole.get(row.id, row) for row in rows)]


def _read_whole(keys: Sequence[UUID]) -> dict[UUID, Project]:
    return Project.objects.with_heartbeat().select_related("owner", "plan", "agent_type").in_bulk(keys)


def refresh(projects: Sequence[Project], *, busy: Collection[str] = ()) -> None:
    """Updates the objects in memory. Where the engine does not answer in time they say what their rows say by then.

    `busy` are the keys of others on which an operation is under way.
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
    """Those of which the engine has not told: a watcher may have written down more meanwhile."""
    now = clock.now()
    left = {project.pk: project for project in projects if not is_fresh(project.facts(now))}
    for pk, newer in _read_whole(list(left)).items():
        vars(left[pk]).update(vars(newer))


def _observe(projects: Sequence[Project], *, busy: Collection[str]) -> dict[str, Observation | None]:
    """Leaves out those of which the engine does not say how they are.

    `busy` are the keys of those that are not asked about: the engine may be unable to answer for them now.
    """
    engine = get_engine()
    # No watcher has looked lately at what the list calls well, of which it may be wrong.
    doubted = {project.container_key for project in projects}
    groups = group_by_key(engine.observe(_labels(projects), briefly=busy, doubted=doubted))
    seen: dict[str, Observation | None] = {}
    for project in projects:
        group = groups.get(project.container_key, [])
        if any(each.is_silent for each in group):
            continue
        found = next(iter(group), None)
        if found is None or (found.is_brief and project.has_reported_since(found)):
            # A list that lacks a container is no proof of its absence. Only a 404 for its name is.
            with suppress(ContainerSilentError):
                seen[project.container_key] = engine.inspect(project.container_key)
        else:
            seen[project.container_key] = found
    return seen


def _skip_changed(projects: Sequence[Project]) -> Iterator[Project]:
    """Yields the projects on which no operation began or ended while the engine was asked; reads the others again.

    What the engine has now must not be combined with what the row wanted before: a container that was just stopped
    would look crashed.
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
    """Returns the labels that all their containers have: with the owner's, if they have one owner, as in most reads."""
    labels = {INSTANCE_LABEL: settings.BERTH_INSTANCE}
    owners = {project.owner_id for project in projects}
    if len(owners) == 1:
        labels[OWNER_LABEL] = str(owners.pop())
    return labels


def apply_if_newer(project: Project, observation: Observation | None, *, at: datetime) -> None:
    """What the row knows from the future is no newer: the clock has stepped back since."""
    known = project.observed_at
    if known is None or known < at or is_future(known, now=clock.now()):
        project.apply_observation(observation, at=at)


def observe_now(project: Project) -> Observation | None:
    """Asks the engine about one container, even if the row is fresh, and returns what it said. Raises `EngineError`.

    What one that is down has reported last is left out: no status follows from it.
    """
    observation = get_engine().inspect(project.container_key, briefly=True)
    project.apply_observation(observation, at=clock.now())
    return observation
