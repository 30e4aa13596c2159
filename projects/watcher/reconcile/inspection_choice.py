"""Chooses the projects whose containers are inspected in a round, and what counts for the others: for ended ones the
engine's events are enough for a while, because a round has little time to find out how they ended."""

import secrets
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

from accounts import clock
from containers.vocabulary import ContainerState, Observation
from projects.models import Project
from projects.watcher.ends.run_ends import LATE, FindEnd
from projects.watcher.ends.states_from_events import CALLED_UP, heard_state, is_ending
from projects.watcher.failures import locked_rows
from projects.watcher.reconcile.inspection import Answer, inspecting
from projects.watcher.reconcile.project import has_to_be_inspected
from projects.watcher.reconcile.round import Round

CRASHES_WITHIN = 0.5
"""Seconds of a round for finding out how agents ended. The others are recorded as ended at once, so that the heartbeat
covers all; the next round finds out how. Other news waits that long."""

DESCRIBED_AT_LEAST = 8
"""How many answers of the engine a round always processes, even when it is late. Otherwise a busy machine would put off
many crashes from round to round for minutes."""

ASKED_AT_MOST = 16
"""The most inspected containers for which events would be enough. An inspection costs the engine and Berth more
than a line of a list, which matters most while the engine is busy."""


def with_answers(
    projects: Iterable[Project],
    groups: Mapping[UUID, Sequence[Observation]],
    changed_keys: Collection[str],
    result: Round,
    find_end: FindEnd,
) -> Iterator[tuple[Project, Sequence[Observation], Answer | None]]:
    """Yields each project with its containers and how to get its answer, or None if the list is enough.

    First come projects for which the list is enough, then inspected ones; if these are many, events stand in for some.
    """
    until = time.monotonic() + CRASHES_WITHIN
    candidates: dict[str, Project] = {}
    for project in projects:
        group = groups.get(project.pk, ())
        if project.pk in groups and not group and _is_removed(project, find_end):
            yield project, group, None
        elif has_to_be_inspected(project, group, find_end, is_changed=project.container_key in changed_keys):
            candidates[project.container_key] = project
        else:
            yield project, group, _told_by_list(project, group, result, find_end) if time.monotonic() >= until else None

    until = max(until, time.monotonic() + CRASHES_WITHIN / 2)
    for key, answer in _ask(candidates, groups, result, find_end, until=until):
        yield candidates[key], groups.get(candidates[key].pk, ()), answer


def _is_removed(project: Project, find_end: FindEnd) -> bool:
    """Returns whether the engine was heard to remove the container that the row has."""
    end = find_end(project.container_id)
    return end is not None and end.is_removed


def _ask(
    candidates: Mapping[str, Project],
    groups: Mapping[UUID, Sequence[Observation]],
    result: Round,
    find_end: FindEnd,
    *,
    until: float,
) -> Iterator[tuple[str, Answer | None]]:
    """Yields each key with its answer. If there are too many to inspect, those that need no inspection come first."""
    known = {key: _known_without(each, groups.get(each.pk, ()), find_end) for key, each in candidates.items()}

    def put_off(key: str) -> Answer | None:
        heard = known[key]
        if heard is None:
            return None
        is_described = _has_described(candidates[key], find_end)
        (result.passed_over if is_described else result.put_off).add(key)
        return leave_alone if is_described and _tells_end(candidates[key], heard) else partial(known.__getitem__, key)

    inspected = _choose(candidates, known, find_end)
    for key in candidates.keys() - set(inspected):
        yield key, put_off(key)
    left = DESCRIBED_AT_LEAST
    ids = {key: _only_id(groups.get(candidates[key].pk, ())) for key in inspected}
    with inspecting(ids, until=until, instead=put_off) as answers:
        for key, answer in answers:
            left -= time.monotonic() >= until
            is_late = left < 0
            yield key, (put_off(key) or partial(_without_crash, candidates[key], answer, result)) if is_late else answer


def _only_id(group: Sequence[Observation]) -> str:
    """Returns the id of the only listed container, or an empty string."""
    return group[0].container_id if len(group) == 1 else ""


def _choose(candidates: Mapping[str, Project], known: Mapping[str, Observation | None], find_end: FindEnd) -> list[str]:
    """Returns the keys to inspect: all for which only the engine can answer, then some of the others.

    Of these, ends that the row does not know yet come first. Their order is random, so that each gets its turn even if
    some never answer.
    """
    others = [key for key in candidates if known[key] is not None]
    secrets.SystemRandom().shuffle(others)
    others.sort(key=lambda key: _has_described(candidates[key], find_end))
    return [key for key in candidates if known[key] is None] + others[:ASKED_AT_MOST]


def _has_described(project: Project, find_end: FindEnd) -> bool:
    """Returns whether the row knows how that run ended. An engine records an earlier time than that of its event."""
    end = find_end(project.container_id)
    if end is None:
        return True
    since = min(end.began_at or end.at - LATE, end.at)
    return project.ended_at is not None and project.ended_at >= since


def _tells_end(project: Project, heard: Observation) -> bool:
    """Returns whether the row already has this end as the engine reported it, so that it must not be overwritten.

    A row with an operation or with failures is processed anyway.
    """
    if heard.state is not ContainerState.RESTARTING or project.container_state in CALLED_UP:
        return False
    is_troubled = project.operation or project.reconcile_failures or project.pk in locked_rows
    return not is_troubled and not project.has_future_moments(clock.now())


def leave_alone() -> Observation | None:
    """Marks a row that must not be written. It is never called."""
    raise AssertionError("This row is not to be written.")


def _known_without(project: Project, group: Sequence[Observation], find_end: FindEnd) -> Observation | None:
    """Returns the state by events, or by the list for a container that has been running again for a while.

    Returns None if only an inspection can tell.
    """
    heard = heard_state(project, group, find_end)
    if heard is not None or len(group) != 1 or not group[0].is_complete or group[0].is_silent:
        return heard
    end = find_end(group[0].container_id)
    if end is None or end.is_present or (group[0].is_brief and project.has_reported_since(group[0])):
        return None
    return replace(group[0], restart_count=None, is_hearsay=True)


def _told_by_list(project: Project, group: Sequence[Observation], result: Round, find_end: FindEnd) -> Answer | None:
    """Returns the list's answer without a crash. Returns None if the list is incomplete or events say more."""
    if len(group) != 1 or not group[0].is_complete or group[0].is_silent or is_ending(project, group, find_end):
        return None
    return partial(_without_crash, project, lambda: group[0], result)


def _without_crash(project: Project, answer: Answer, result: Round) -> Observation | None:
    """Returns the engine's answer, but puts off a crash in it to another round, because recording it takes calls."""
    seen = answer()
    if seen is None or not seen.is_up or (seen.restart_count or 0) <= project.restarts:
        return seen
    result.put_off.add(project.container_key)
    return replace(seen, restart_count=None, is_hearsay=True)
